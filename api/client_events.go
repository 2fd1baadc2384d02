package api

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxEvent bounds one event in bytes, and each of its lines: an update of a
// large page with everything in it is a few megabytes.
const maxEvent = 32 << 20

// errEventTooLong cannot be mended by reading the same event once more.
var errEventTooLong = fmt.Errorf("event is longer than %d bytes", maxEvent)

// eventReader reads a text/event-stream, as the HTML standard has it (section
// 9.2), with lines that end in LF or CRLF.
type eventReader struct {
	lines  *bufio.Reader
	line   []byte // reused
	cursor string // the last event ID seen, of events without data too
}

func newEventReader(r io.Reader, cursor string) *eventReader {
	return &eventReader{lines: bufio.NewReaderSize(r, 64<<10), cursor: cursor}
}

// next returns the next event that has data. What stands behind the last empty
// line when the stream ends is the beginning of an event and is dropped: neither
// it nor its ID counts.
func (r *eventReader) next() (StreamEvent, error) {
	for {
		event, err := r.block()
		if err != nil {
			return StreamEvent{}, err
		}
		if event.Data != nil {
			return event, nil
		}
	}
}

// block reads to the next empty line and moves the cursor. An event without an
// ID leaves it where it is, but for a reset: the old cursor leads nowhere.
func (r *eventReader) block() (StreamEvent, error) {
	event := StreamEvent{Type: "message"}
	named := false
	for {
		line, err := r.readLine()
		if err != nil {
			return StreamEvent{}, err
		}
		if len(line) == 0 {
			break
		}
		if len(event.Data)+len(line) > maxEvent {
			return StreamEvent{}, errEventTooLong
		}
		named = event.add(line) || named
	}
	if named || event.Type == StreamReset {
		r.cursor = event.ID
	}
	event.Data = bytes.TrimSuffix(event.Data, []byte("\n"))
	return event, nil
}

// add reports whether the line is the event's ID.
func (e *StreamEvent) add(line []byte) (named bool) {
	field, value, _ := bytes.Cut(line, []byte(":")) // a comment has an empty field
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "event":
		e.Type = string(value)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			e.ID = string(value)
			return true
		}
	case "data":
		e.Data = append(append(e.Data, value...), '\n')
	}
	return false
}

// readLine returns a line without its end, valid until the next call.
func (r *eventReader) readLine() ([]byte, error) {
	r.line = r.line[:0]
	for {
		part, err := r.lines.ReadSlice('\n')
		if len(r.line)+len(part) > maxEvent {
			return nil, errEventTooLong
		}
		r.line = append(r.line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return bytes.TrimSuffix(bytes.TrimSuffix(r.line, []byte("\n")), []byte("\r")), nil
	}
}
