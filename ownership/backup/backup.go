// Package backup is the file that holds the states of all ranges of a cluster, and is
// refused unless it is whole. Its form is that of [transfer.ArchiveWriter]; what stands in
// it are the records of package state, without the indexes that follow from others.
package backup

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
	"github.com/seed-91e7e7c1/corona/ownership/internal/transfer"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// ErrFile says that a file cannot be used as a backup: it is cut, damaged, of another
// version, broken off, or not one at all. The text says what is wrong and where.
var ErrFile = transfer.ErrArchive

// Counts are how many records of each kind a backup has.
type Counts = state.Counts

// Summary is what a backup says about itself.
type Summary struct {
	ID      []byte // 16 bytes
	Cluster string // ID, 32 hex digits
	Begun   time.Time
	Program string // version of the one that wrote it
	Ranges  int
	Counts
}

// Progress is how far the reading, or writing, of a backup is.
type Progress struct {
	Ranges, Of int
	FileBytes  int64
	Counts
}

// Reader reads a backup range by range, and checks what it reads.
type Reader struct {
	archive *transfer.ArchiveReader
	tell    func(Progress)
	summary Summary
	read    int            // ranges
	next    channel.Bucket // that the next range begins with
}

// NewReader reads a backup's header. Tell is called now and then with how far it is; nil
// for no one.
func NewReader(from io.Reader, tell func(Progress)) (*Reader, error) {
	archive, err := transfer.NewArchiveReader(from)
	if err != nil {
		return nil, err
	}
	h := archive.Header()
	if len(h.Id) != 16 {
		return nil, fmt.Errorf("%w: it has no ID", ErrFile)
	}
	if tell == nil {
		tell = func(Progress) {}
	}
	return &Reader{archive: archive, tell: tell, summary: Summary{
		ID: h.Id, Cluster: hex.EncodeToString(h.Cluster), Begun: wire.Time(h.BegunUs), Program: h.Program, Ranges: int(h.Ranges),
	}}, nil
}

// ID returns the backup's, 16 bytes.
func (r *Reader) ID() []byte { return r.summary.ID }

// StateMachine returns the version of the commands that made the records.
func (r *Reader) StateMachine() uint32 { return r.archive.Header().GetStateMachine() }

// Summary returns what the backup holds, complete after Next has returned io.EOF.
func (r *Reader) Summary() Summary { return r.summary }

// Next reads the next range: each is called with every record, in the order of their keys;
// it must keep neither. Then the records of all buckets of the range are returned, from
// the bucket first on. At the end of a backup that is whole the error is io.EOF. An error
// wraps ErrFile, or is that of each or of a failed read.
func (r *Reader) Next(each func(key, value []byte) error) (first channel.Bucket, buckets []*wire.Bucket, err error) {
	section, stream, err := r.archive.Next()
	if errors.Is(err, io.EOF) {
		return 0, nil, r.end()
	}
	if err != nil {
		return 0, nil, err
	}
	if section.From != uint32(r.next) || section.To < section.From || section.To >= channel.Buckets {
		return 0, nil, r.wrong("range %d has buckets %d to %d, want from %d", section.Range, section.From, section.To, r.next)
	}
	inventory := state.NewInventory(channel.Bucket(section.From), channel.Bucket(section.To))
	if err := r.section(section, stream, inventory, each); err != nil {
		return 0, nil, err
	}
	counts, buckets, err := inventory.End()
	if err != nil {
		return 0, nil, r.wrong("range %d: %w", section.Range, err)
	}
	r.summary.Counts = r.summary.Counts.Plus(counts)
	r.next = channel.Bucket(section.To) + 1
	r.read++
	r.progress(Counts{})
	return channel.Bucket(section.From), buckets, nil
}

// section reads the stream of one range.
func (r *Reader) section(section *wire.BackupSection, stream io.Reader, inventory *state.Inventory, each func(key, value []byte) error) error {
	in, err := transfer.NewReader(stream)
	if err != nil {
		return r.inRange(section, err)
	}
	defer in.Close()
	if h := in.Header(); h.Group != section.Range || h.From != section.From || h.To != section.To || hex.EncodeToString(h.Cluster) != r.summary.Cluster {
		return r.wrong("state of range %d is of another range or cluster", section.Range)
	}
	for n := 1; ; n++ {
		key, value, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return r.inRange(section, err)
		}
		if err := inventory.Add(key, value); err != nil {
			return r.wrong("range %d: %w", section.Range, err)
		}
		if err := each(key, value); err != nil {
			return err
		}
		if n%tellEvery == 0 {
			r.progress(inventory.Counts())
		}
	}
}

// tellEvery is after how many records of a range progress is told.
const tellEvery = 4096

// end compares what was read with the trailer.
func (r *Reader) end() error {
	if int(r.next) != channel.Buckets {
		return r.wrong("it ends at bucket %d of %d", r.next, channel.Buckets)
	}
	if says := countsOf(r.archive.Trailer()); says != r.summary.Counts {
		return r.wrong("it has %+v, should have %+v", r.summary.Counts, says)
	}
	return io.EOF
}

func (r *Reader) progress(more Counts) {
	r.tell(Progress{Ranges: r.read, Of: r.summary.Ranges, FileBytes: r.archive.At(), Counts: r.summary.Counts.Plus(more)})
}

func (r *Reader) wrong(format string, args ...any) error {
	return fmt.Errorf("%w: before byte %d: %w", ErrFile, r.archive.At(), fmt.Errorf(format, args...))
}

// inRange says of a failed read which range it was of.
func (r *Reader) inRange(section *wire.BackupSection, err error) error {
	if inner := errors.Unwrap(err); errors.Is(inner, ErrFile) {
		return inner // it says where
	}
	if !errors.Is(err, transfer.ErrStream) {
		return fmt.Errorf("range %d: %w", section.Range, err)
	}
	return r.wrong("range %d: %w", section.Range, err)
}

// Check reads a whole backup. Its error wraps ErrFile, or is that of from.
func Check(from io.Reader, tell func(Progress)) (Summary, error) {
	r, err := NewReader(from, tell)
	if err != nil {
		return Summary{}, err
	}
	for {
		if _, _, err := r.Next(func(_, _ []byte) error { return nil }); errors.Is(err, io.EOF) {
			return r.summary, nil
		} else if err != nil {
			return Summary{}, err
		}
	}
}
