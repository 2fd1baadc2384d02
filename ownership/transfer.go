package ownership

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/planted"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
	"github.com/seed-91e7e7c1/corona/ownership/internal/transfer"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// transferrer sends a range's state to another disk, and puts one from elsewhere
// in its place. Both are streams, in the form of package transfer.
type transferrer struct {
	group   uint32
	all     channel.Range                                 // of a state that was never split
	buckets func() channel.Range                          // of the state that is here
	admit   func(to channel.Bucket) (last channel.Bucket) // told of a state that comes, it returns the last bucket that this may have
	db      *pebble.DB
	flush   *flusher
	files   vfs.FS
	dir     string // for this range's streams under way; made when it is needed
	pieces  int    // bytes of keys and values in one file of a received state
	metrics *metrics
	turns   *turns       // nil: states are received at any time
	gone    func() error // an error once the state's records were taken out of db; nil: they never are

	incoming atomic.Uint32 // the last bucket of the state that is being received, 0 for none
	made     atomic.Uint64 // names given in dir
}

// start and end are the bounds of a range's keys, except its applied record.
func (t *transferrer) start() []byte { return state.FirstKey(t.all.From) }
func (t *transferrer) end() []byte   { return state.FirstKey(t.buckets().To + 1) }

// send writes the state as it is now, while it goes on changing. It needs about
// 4 MiB and the largest value.
//
// The view is an iterator. It pins files that compactions replace meanwhile and
// the newest memtable, which a flush makes small; a pebble snapshot would also
// keep every overwritten value, and would lose its keys to a restore.
//
// Of the pairs only those are sent that which returns true for; nil for all. The state must
// have the entry least: one that has left this node, or comes back, has not.
func (t *transferrer) send(to io.Writer, least uint64, which func(key, value []byte) (bool, error)) (err error) {
	if err := t.flush.flush(); err != nil {
		return err
	}
	view, err := t.db.NewIter(nil)
	if err != nil {
		return disk.ReadError("read state", err)
	}
	defer func() { err = errors.Join(err, disk.ReadError("read state", view.Close())) }()
	header, err := t.header(view)
	if err == nil && t.gone != nil { // after the view was made
		err = t.gone()
	}
	if err != nil {
		return err
	}
	if at := header.Applied.GetIndex(); at < least {
		return fmt.Errorf("send range %d: %w: its state is at entry %d, want %d", t.group, ErrUnavailable, at, least)
	}
	w, err := transfer.NewWriter(to, header)
	if err != nil {
		return fmt.Errorf("send range %d: %w", t.group, err)
	}
	view.SetBounds(t.start(), state.FirstKey(channel.Bucket(header.To)+1))
	for ok := view.First(); ok && err == nil; ok = view.Next() {
		err = addPair(w, view, which)
	}
	if err := errors.Join(err, disk.ReadError("read state", view.Error())); err != nil {
		return fmt.Errorf("send range %d: %w", t.group, err)
	}
	return w.Close()
}

func addPair(w *transfer.Writer, view *pebble.Iterator, which func(key, value []byte) (bool, error)) error {
	value, err := view.ValueAndErr()
	if err != nil {
		return err
	}
	if which != nil {
		if sent, err := which(view.Key(), value); err != nil || !sent {
			return err
		}
	}
	return w.Add(view.Key(), value)
}

// header describes the state that a view shows.
func (t *transferrer) header(view *pebble.Iterator) (*wire.TransferHeader, error) {
	applied, identity := &wire.Applied{}, &wire.Identity{}
	err := errors.Join(seekProto(view, state.AppliedKey(t.group), applied), seekProto(view, state.IdentityKey(), identity))
	if planted.Bug(8) {
		applied.Index++
	}
	to := uint32(t.all.To)
	if applied.Span != nil {
		to = applied.Span.To
	}
	return &wire.TransferHeader{
		Group: t.group, From: uint32(t.all.From), To: to, Cluster: identity.Cluster, Applied: applied,
	}, err
}

// seekProto reads a record, which is left as it is if there is none.
func seekProto(view *pebble.Iterator, key []byte, record proto.Message) error {
	if !view.SeekGE(key) || !bytes.Equal(view.Key(), key) {
		return disk.ReadError("read state", view.Error())
	}
	if err := proto.Unmarshal(view.Value(), record); err != nil {
		return disk.Corrupt("record at key %x: %w", key, err)
	}
	return nil
}

// spooled is a stream of the state that is in a file, from when it is first needed until it
// is closed. So a slow receiver pins a file and no view.
type spooled struct {
	transfer *transferrer
	path     string
	file     vfs.File // nil before spool
}

// spool writes the state into the file, unless that has been done, and returns its length,
// which raft's messages name before the first byte.
func (s *spooled) spool() (size int64, err error) {
	if s.file == nil {
		if err := s.open(); err != nil {
			return 0, err
		}
	}
	info, err := s.file.Stat()
	if err != nil {
		return 0, fmt.Errorf("measure stream: %w", err)
	}
	return info.Size(), nil
}

func (s *spooled) open() (err error) {
	t := s.transfer
	if err := t.files.MkdirAll(t.dir, dirPerm); err != nil {
		return fmt.Errorf("create directory: %w", err)
	}
	s.path = t.name("out")
	defer func() {
		if err != nil {
			t.metrics.transfersUnsent.Inc()
			_ = t.files.Remove(s.path) // a start removes what this leaves
		}
	}()
	if err := t.sendFile(s.path); err != nil {
		return err
	}
	if s.file, err = t.files.Open(s.path); err != nil {
		return fmt.Errorf("open stream: %w", err)
	}
	info, err := s.file.Stat()
	if err != nil {
		return errors.Join(fmt.Errorf("measure stream: %w", err), s.file.Close())
	}
	t.metrics.transfersSent.Inc()
	t.metrics.transferBytes.Add(float64(info.Size()))
	return nil
}

// Read implements [io.Reader].
func (s *spooled) Read(p []byte) (int, error) {
	if _, err := s.spool(); err != nil {
		return 0, err
	}
	return s.file.Read(p)
}

// Close removes the file.
func (s *spooled) Close() error {
	if s.file == nil {
		return nil
	}
	return errors.Join(s.file.Close(), s.transfer.files.Remove(s.path))
}

func (t *transferrer) sendFile(path string) error {
	file, err := t.files.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("create stream: %w", err)
	}
	return errors.Join(t.send(file, 0, nil), file.Close())
}

// name returns a path in dir that no other stream of this process has.
func (t *transferrer) name(kind string) string {
	return t.files.PathJoin(t.dir, fmt.Sprintf("%s-%d", kind, t.made.Add(1)))
}

// clean removes what streams left behind. None may be under way.
func (t *transferrer) clean() error {
	if err := t.files.RemoveAll(t.dir); err != nil {
		return fmt.Errorf("remove what a transfer left: %w", err)
	}
	return nil
}

// size returns about how many bytes the state takes on the disk.
func (t *transferrer) size() (uint64, error) {
	size, err := t.db.EstimateDiskUsage(t.start(), t.end())
	if err != nil {
		return 0, disk.ReadError("measure state", err)
	}
	return size, nil
}
