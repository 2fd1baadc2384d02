package ownership

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
	"github.com/seed-91e7e7c1/corona/ownership/internal/transfer"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// receivedFile is the bytes of keys and values in one file of a received state. An
// index and a filter are in memory until their file is written.
const receivedFile = 16 << 20

// receive reads a stream into sorted files beside the store, durably, and returns
// a marker that names them. The state has not changed. What an error leaves is
// removed; it wraps transfer.ErrStream, ErrForeign, or is of a failed read or write.
func (t *transferrer) receive(from io.Reader) (*wire.Marker, error) {
	var marker *wire.Marker
	done, err := t.turns.receive()
	if err == nil {
		marker, err = t.stage(from)
		done()
	}
	if err != nil {
		t.incoming.Store(0)
		t.metrics.transfersRefused.Inc()
		return nil, fmt.Errorf("receive range %d: %w", t.group, err)
	}
	return marker, nil
}

func (t *transferrer) stage(from io.Reader) (marker *wire.Marker, err error) {
	r, err := transfer.NewReader(from)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if err := t.checkHeader(r.Header()); err != nil {
		return nil, err
	}
	files := sortedFiles{files: t.files, dir: t.name("in"), pieces: t.pieces}
	defer func() {
		if err != nil {
			err = errors.Join(err, files.remove())
		}
	}()
	if err := files.begin(); err != nil {
		return nil, err
	}
	if err := t.fill(&files, r); err != nil {
		return nil, err
	}
	if err := files.finish(t.files.PathDir(t.files.PathDir(t.dir))); err != nil {
		return nil, err
	}
	return &wire.Marker{
		Group: t.group, Applied: r.Header().Applied.GetIndex(),
		Received: t.files.PathBase(files.dir), Files: files.n, To: r.Header().To,
	}, nil
}

// checkHeader refuses the state of another range or cluster, and one older than
// what is here: what was applied is not undone.
func (t *transferrer) checkHeader(h *wire.TransferHeader) error {
	own, applied := &wire.Identity{}, &wire.Applied{}
	for key, record := range map[string]proto.Message{string(state.IdentityKey()): own, string(state.AppliedKey(t.group)): applied} {
		if err := state.Get(t.db, []byte(key), record); err != nil && !errors.Is(err, pebble.ErrNotFound) {
			return err
		}
	}
	if !bytes.Equal(h.Cluster, own.Cluster) {
		return fmt.Errorf("%w: state is of cluster %x, not %x", ErrForeign, h.Cluster, own.Cluster)
	}
	if most := uint32(t.admit(channel.Bucket(h.To))); h.Group != t.group || h.From != uint32(t.all.From) || h.To < h.From || h.To > most {
		return fmt.Errorf("%w: is of range %d, buckets %d to %d, not of range %d, %d to %d at most",
			transfer.ErrStream, h.Group, h.From, h.To, t.group, t.all.From, most)
	}
	says := uint32(t.all.To)
	if span := h.Applied.GetSpan(); span != nil {
		says = span.To
	}
	if h.To != says {
		return fmt.Errorf("%w: ends at bucket %d, and says %d", transfer.ErrStream, h.To, says)
	}
	if h.Applied.GetIndex() < applied.Index {
		return fmt.Errorf("%w: ends at entry %d, the state here at %d", transfer.ErrStream, h.Applied.GetIndex(), applied.Index)
	}
	return nil
}

// fill copies the pairs into files, and how far the state is into one more.
func (t *transferrer) fill(files *sortedFiles, r *transfer.Reader) error {
	start, end := t.start(), state.FirstKey(channel.Bucket(r.Header().To)+1)
	for {
		key, value, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if bytes.Compare(key, start) < 0 || bytes.Compare(key, end) >= 0 {
			return fmt.Errorf("%w: key %x is not of buckets %d to %d", transfer.ErrStream, key, t.all.From, r.Header().To)
		}
		if err := files.add(key, value); err != nil {
			return err
		}
	}
	if err := files.cut(); err != nil {
		return err
	}
	applied, err := proto.Marshal(r.Header().Applied)
	if err != nil {
		return fmt.Errorf("encode applied: %w", err)
	}
	return files.add(state.AppliedKey(t.group), applied)
}

// install puts a received state in the place of the present one: the range's span
// is emptied and the files become part of the store in one edit of its manifest,
// and the record of how far the state is with them. Readers must be kept out:
// what they see through several looks would not fit together.
func (t *transferrer) install(marker *wire.Marker) error {
	dir := t.files.PathJoin(t.dir, marker.Received)
	paths := make([]string, marker.Files)
	for i := range paths {
		paths[i] = t.files.PathJoin(dir, sortedName(uint32(i)))
		if _, err := t.files.Stat(paths[i]); err != nil {
			return disk.Corrupt("received state of range %d: %w", t.group, err)
		}
	}
	last := max(t.buckets().To, channel.Bucket(marker.To))
	span := pebble.KeyRange{Start: t.start(), End: state.FirstKey(last + 1)}
	if err := disk.CheckCuts(t.db, span); err != nil {
		return fmt.Errorf("install state of range %d: %w", t.group, err)
	}
	if _, err := t.db.IngestAndExcise(context.Background(), paths, nil, nil, span); err != nil {
		return fmt.Errorf("install state of range %d: %w", t.group, err)
	}
	t.metrics.transfersReceived.Inc()
	return nil
}

// discard removes what receive left, or what install did.
func (t *transferrer) discard(marker *wire.Marker) error {
	t.incoming.Store(0)
	if err := t.files.RemoveAll(t.files.PathJoin(t.dir, marker.Received)); err != nil {
		return fmt.Errorf("remove received state: %w", err)
	}
	return nil
}

// sortedFiles writes pairs, in order, into files that pebble can take over.
type sortedFiles struct {
	files  vfs.FS
	dir    string
	pieces int    // bytes of pairs in a file
	n      uint32 // begun
	file   *sstable.Writer
	size   int // of the pairs in it
}

func sortedName(i uint32) string { return fmt.Sprintf("%06d.sst", i) }

func (s *sortedFiles) begin() error {
	if err := s.files.MkdirAll(s.dir, dirPerm); err != nil {
		return fmt.Errorf("create directory: %w", err)
	}
	return nil
}

func (s *sortedFiles) add(key, value []byte) error {
	if s.file == nil {
		file, err := s.files.Create(s.files.PathJoin(s.dir, sortedName(s.n)), vfs.WriteCategoryUnspecified)
		if err != nil {
			return fmt.Errorf("create sorted file: %w", err)
		}
		s.n++
		s.size = 0
		s.file = sstable.NewWriter(objstorageprovider.NewFileWritable(file), sstable.WriterOptions{
			TableFormat: disk.Format.MaxTableFormat(), FilterPolicy: bloom.FilterPolicy(10),
		})
	}
	if err := s.file.Set(key, value); err != nil {
		return fmt.Errorf("write sorted file: %w", err)
	}
	if s.size += len(key) + len(value); s.size >= s.pieces {
		return s.cut()
	}
	return nil
}

// cut ends the file being written, durably.
func (s *sortedFiles) cut() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file = nil
	if err != nil {
		return fmt.Errorf("write sorted file: %w", err)
	}
	return nil
}

// finish makes the names durable too: the files', and those of directories up to
// one that is.
func (s *sortedFiles) finish(durable string) error {
	if err := s.cut(); err != nil {
		return err
	}
	for dir := s.dir; ; dir = s.files.PathDir(dir) {
		if err := syncDirOf(s.files, dir); err != nil {
			return err
		}
		if dir == durable {
			return nil
		}
	}
}

func syncDirOf(files vfs.FS, path string) error {
	dir, err := files.OpenDir(path)
	if err != nil {
		return fmt.Errorf("open directory: %w", err)
	}
	if err := errors.Join(dir.Sync(), dir.Close()); err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return nil
}

func (s *sortedFiles) remove() error {
	if s.file != nil {
		_ = s.file.Close() // it goes
	}
	return s.files.RemoveAll(s.dir)
}
