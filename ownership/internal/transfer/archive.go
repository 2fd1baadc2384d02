package transfer

import (
	"errors"
	"fmt"
	"io"

	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// An archive is a file of several streams: eight bytes "corona\x00B" and then frames as
// those of a stream, of the kinds
//
//	'H'  wire.BackupHeader, first
//	'S'  wire.BackupSection: a stream begins
//	's'  bytes of it
//	'e'  it has ended
//	'x'  text: why the archive ends here, and is of no use
//	'T'  wire.BackupTrailer, last: counts, and SHA-256 of all before it
const (
	kindArchive    = 'H'
	kindSection    = 'S'
	kindPiece      = 's'
	kindSectionEnd = 'e'
	kindFailure    = 'x'
	kindArchiveEnd = 'T'
)

// ArchiveFormat is the number of the form of archives. It grows when a reader of before
// would misread what is written now, the records of a state included.
const ArchiveFormat = 1

// ErrArchive says that an archive cannot be used: it is cut, damaged, of a newer format,
// or not one at all.
var ErrArchive = errors.New("backup cannot be used")

var archiveMagic = []byte("corona\x00B")

// maxFailure bounds the text of a failure.
const maxFailure = 1 << 10

// ArchiveWriter writes an archive. Its first error is final.
type ArchiveWriter struct {
	framer
	ranges uint32
}

// NewArchiveWriter begins an archive. The header's format is set.
func NewArchiveWriter(to io.Writer, header *wire.BackupHeader) (*ArchiveWriter, error) {
	w := &ArchiveWriter{framer: newFramer(to)}
	header.Format = ArchiveFormat
	w.write(append([]byte(nil), archiveMagic...))
	w.message(kindArchive, header)
	return w, w.err
}

func (w *ArchiveWriter) message(kind byte, m proto.Message) {
	content, err := proto.Marshal(m)
	if err != nil {
		w.err = errors.Join(w.err, fmt.Errorf("encode backup: %w", err))
		return
	}
	w.frame(kind, len(content), content)
}

// Begin begins a section, whose stream follows by Write, and End.
func (w *ArchiveWriter) Begin(section *wire.BackupSection) error {
	w.ranges++
	w.message(kindSection, section)
	return w.err
}

// Write adds bytes to the section.
func (w *ArchiveWriter) Write(content []byte) (int, error) {
	for n := 0; n < len(content); n += blockSize {
		piece := content[n:min(len(content), n+blockSize)]
		w.frame(kindPiece, len(piece), piece)
	}
	return len(content), w.err
}

// End ends the section.
func (w *ArchiveWriter) End() error {
	w.frame(kindSectionEnd, 0, nil)
	return w.err
}

// Fail ends the archive with the reason why it is of no use.
func (w *ArchiveWriter) Fail(reason error) error {
	text := []byte(reason.Error())
	text = text[:min(len(text), maxFailure)]
	w.frame(kindFailure, len(text), text)
	return w.err
}

// Close ends the archive with counts, whose ranges and hash are set: without it there is
// none.
func (w *ArchiveWriter) Close(counts *wire.BackupTrailer) error {
	counts.Ranges, counts.Sha256 = w.ranges, w.hash.Sum(nil)
	w.message(kindArchiveEnd, counts)
	return w.err
}

// ArchiveReader reads an archive.
//
// What it returned stands only when the archive has ended with io.EOF: before that a cut
// has not been noticed.
type ArchiveReader struct {
	framed
	header  wire.BackupHeader
	trailer *wire.BackupTrailer
	ranges  uint32
	section *sectionReader // being read, nil for none
}

// NewArchiveReader reads an archive's header. An error wraps ErrArchive, or is that of
// from.
func NewArchiveReader(from io.Reader) (*ArchiveReader, error) {
	r := &ArchiveReader{framed: newFramed(from)}
	if err := r.begins(archiveMagic); err != nil {
		return nil, r.broken(err)
	}
	kind, content, err := r.frame()
	if err == nil && kind != kindArchive {
		err = broken("begins with a frame of kind %q", kind)
	}
	if err == nil {
		if err = proto.Unmarshal(content, &r.header); err != nil {
			err = broken("header: %w", err)
		}
	}
	if err != nil {
		return nil, r.broken(err)
	}
	if r.header.Format != ArchiveFormat {
		return nil, fmt.Errorf("%w: it is of format %d, this program reads %d", ErrArchive, r.header.Format, ArchiveFormat)
	}
	return r, nil
}

// Header returns what the archive says about itself.
func (r *ArchiveReader) Header() *wire.BackupHeader { return &r.header }

// Trailer returns the counts, after Next has returned io.EOF.
func (r *ArchiveReader) Trailer() *wire.BackupTrailer { return r.trailer }

// At returns how many bytes of the archive were read.
func (r *ArchiveReader) At() int64 { return r.at }

// Next returns the next section, whose stream must be read to its end before the next
// call. At the end of an archive that is whole the error is io.EOF.
func (r *ArchiveReader) Next() (*wire.BackupSection, io.Reader, error) {
	if r.section != nil && !r.section.over {
		return nil, nil, errors.New("section of a backup was not read to its end")
	}
	sum := r.hash.Sum(nil) // of all before a trailer
	kind, content, err := r.frame()
	if err != nil {
		return nil, nil, r.broken(err)
	}
	switch kind {
	case kindSection:
		section := &wire.BackupSection{}
		if err := proto.Unmarshal(content, section); err != nil {
			return nil, nil, r.broken(broken("section: %w", err))
		}
		r.ranges++
		r.section = &sectionReader{archive: r}
		return section, r.section, nil
	case kindArchiveEnd:
		return nil, nil, r.end(sum, content)
	default:
		return nil, nil, r.unexpected(kind, content)
	}
}

func (r *ArchiveReader) end(sum, content []byte) error {
	r.trailer = &wire.BackupTrailer{}
	if err := proto.Unmarshal(content, r.trailer); err != nil {
		return r.broken(broken("trailer: %w", err))
	}
	if string(sum) != string(r.trailer.Sha256) {
		return r.broken(broken("has hash %x, should have %x", sum, r.trailer.Sha256))
	}
	if r.ranges != r.trailer.Ranges || r.ranges != r.header.Ranges {
		return r.broken(broken("has %d ranges, should have %d", r.ranges, r.header.Ranges))
	}
	if err := r.ends(); err != nil {
		return r.broken(err)
	}
	return io.EOF
}

func (r *ArchiveReader) unexpected(kind byte, content []byte) error {
	if kind == kindFailure {
		return fmt.Errorf("%w: it was broken off: %.*s", ErrArchive, maxFailure, content)
	}
	return r.broken(broken("frame %d is of kind %q", r.number-1, kind))
}

// broken says where an archive is broken, unless the error is that of a read.
func (r *ArchiveReader) broken(err error) error {
	if errors.Is(err, ErrArchive) || !errors.Is(err, ErrStream) {
		return err
	}
	return fmt.Errorf("%w: at byte %d: %w", ErrArchive, r.at, plain(err))
}

// plain takes the words about a single stream off an error.
func plain(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		if parts := joined.Unwrap(); len(parts) == 2 && parts[0] == ErrStream {
			return parts[1]
		}
	}
	return err
}

// sectionReader is the stream of one section.
type sectionReader struct {
	archive *ArchiveReader
	rest    []byte // of a piece
	over    bool
	err     error
}

func (s *sectionReader) Read(p []byte) (int, error) {
	for len(s.rest) == 0 && s.err == nil {
		s.refill()
	}
	if len(s.rest) == 0 {
		return 0, s.err
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

func (s *sectionReader) refill() {
	kind, content, err := s.archive.frame()
	switch {
	case err != nil:
		s.err = s.archive.broken(err)
	case kind == kindPiece:
		s.rest = content
	case kind == kindSectionEnd:
		s.over, s.err = true, io.EOF
	default:
		s.err = s.archive.unexpected(kind, content)
	}
}
