package lists

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
	"strings"
)

// maxListLine bounds a line of a text list, in bytes: the longest line that the
// API takes.
const maxListLine = 64 << 10

// listEntry is a URL of a list, or what stands in its place.
type listEntry struct {
	line   int
	url    string // as written
	reason string // why there is no URL; empty when there is one
	end    int64  // bytes of the list up to the end of the entry
}

// readList yields the URLs of a list in their order: of OPML when the first
// thing in it is a tag, of one URL a line otherwise. An error is the last thing
// it yields and names the line.
func readList(r io.Reader) iter.Seq2[listEntry, error] {
	buffered := bufio.NewReaderSize(r, maxListLine)
	if start, err := buffered.Peek(3); err == nil && string(start) == "\xef\xbb\xbf" {
		buffered.Discard(len(start)) // byte order mark
	}
	start, _ := buffered.Peek(512)
	if bytes.HasPrefix(bytes.TrimLeft(start, " \t\r\n"), []byte("<")) {
		return readOPML(buffered)
	}
	return readLines(buffered)
}

// readLines reads one URL a line. Empty lines and those that begin with # are
// passed over.
func readLines(r *bufio.Reader) iter.Seq2[listEntry, error] {
	return func(yield func(listEntry, error) bool) {
		var entry listEntry
		for {
			line, err := readListLine(r, &entry)
			text := strings.TrimSpace(line)
			if entry.reason != "" || text != "" && !strings.HasPrefix(text, "#") {
				entry.url = text
				if !yield(entry, nil) {
					return
				}
			}
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(entry, err)
				return
			}
		}
	}
}

// readListLine returns the next line; of one that is too long, the beginning. It
// moves the entry to it.
func readListLine(r *bufio.Reader, entry *listEntry) (string, error) {
	entry.line++
	entry.reason = ""
	line, err := r.ReadSlice('\n')
	entry.end += int64(len(line))
	if !errors.Is(err, bufio.ErrBufferFull) {
		return string(line), err
	}
	const shown = 60
	begin := string(line[:shown]) + "…"
	entry.reason = "the line is longer than 64 KiB"
	for errors.Is(err, bufio.ErrBufferFull) {
		line, err = r.ReadSlice('\n')
		entry.end += int64(len(line))
	}
	return begin, err
}
