package ownership

import (
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// snapshotSink takes a snapshot: a mark of the state of this disk, or the bytes of
// a stream from another, which go into files while they arrive.
type snapshotSink struct {
	store *snapshotStore
	meta  *wire.SnapshotMeta // without content until it has one

	stream   *io.PipeWriter // nil until the first byte
	received chan received  // what became of it; one value
}

type received struct {
	marker *wire.Marker
	err    error
}

// ID is what Open knows the snapshot by.
func (s *snapshotSink) ID() string {
	if s.stream != nil {
		return receivedID(s.meta)
	}
	return snapshotID(s.meta)
}

// mark makes it a snapshot of this disk's state.
func (s *snapshotSink) mark(marker *wire.Marker) error {
	content, err := proto.MarshalOptions{}.MarshalAppend([]byte{}, marker) // never nil
	if err != nil {
		return fmt.Errorf("encode marker: %w", err)
	}
	s.meta.Content = content
	return nil
}

// Write takes the next bytes of a stream. The first bad one is an error.
func (s *snapshotSink) Write(p []byte) (int, error) {
	if s.stream == nil {
		from, to := io.Pipe()
		s.stream, s.received = to, make(chan received, 1)
		go func() {
			marker, err := s.store.transfer.receive(from)
			from.CloseWithError(err) // the writer learns why; nil is a closed pipe
			s.received <- received{marker, err}
		}()
	}
	return s.stream.Write(p)
}

// errGivenUp is what a stream ends with that the sender gave up.
var errGivenUp = errors.New("snapshot given up")

// Cancel forgets the snapshot.
func (s *snapshotSink) Cancel() error {
	if s.stream == nil {
		return nil
	}
	s.stream.CloseWithError(errGivenUp)
	if r := <-s.received; r.err == nil {
		return s.store.transfer.discard(r.marker)
	}
	return nil
}

// Close makes the snapshot the newest, durably: from now on the received state is
// to be put in its place, by the state machine or by the next start.
func (s *snapshotSink) Close() error {
	if s.stream == nil {
		return s.closeMark()
	}
	if err := s.stream.Close(); err != nil {
		return fmt.Errorf("end stream: %w", err)
	}
	r := <-s.received
	if r.err != nil {
		return r.err
	}
	if err := s.mark(r.marker); err != nil {
		return err
	}
	newest, err := s.store.replace(s.meta)
	if err != nil {
		return err // and the files stay: whether the snapshot counts is unknown
	}
	if !newest {
		// Raft would go back to an index from which this log no longer begins.
		err = fmt.Errorf("received snapshot of entry %d is older than what range %d has", s.meta.Index, s.store.group)
		return errors.Join(err, s.store.transfer.discard(r.marker))
	}
	return nil
}

// closeMark ends a snapshot of this disk's state. If a newer one has come meanwhile that is an
// error: raft would go back to this one's index.
func (s *snapshotSink) closeMark() error {
	if s.meta.Content == nil {
		return fmt.Errorf("snapshot of range %d: %w", s.store.group, io.ErrUnexpectedEOF)
	}
	newest, err := s.store.replace(s.meta)
	if err == nil && !newest {
		err = fmt.Errorf("snapshot of entry %d is older than what range %d has been sent", s.meta.Index, s.store.group)
	}
	return err
}

// stateMark is a raft.FSMSnapshot: that the state holds what was applied until now.
type stateMark struct {
	marker *wire.Marker
	flush  *flusher
}

// Persist flushes the state, then writes the marker.
func (m *stateMark) Persist(sink raft.SnapshotSink) error {
	own, ok := sink.(*snapshotSink)
	if !ok {
		return fmt.Errorf("snapshot goes to a %T", sink)
	}
	if err := m.flush.flush(); err != nil {
		return err
	}
	return own.mark(m.marker)
}

func (m *stateMark) Release() {}
