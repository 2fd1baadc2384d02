package ownership

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
)

// slowMachine applies no entry until may is closed.
type slowMachine struct{ may chan struct{} }

func (m *slowMachine) Apply(*raft.Log) any                 { <-m.may; return nil }
func (m *slowMachine) Snapshot() (raft.FSMSnapshot, error) { return nil, errors.New("none") }
func (m *slowMachine) Restore(io.ReadCloser) error         { return errors.New("none") }

// TestAnswersBeforeStop: a replica is stopped while its state machine has yet to take an entry
// that is committed. Raft alone would leave it without an answer in about half of the rounds.
func TestAnswersBeforeStop(t *testing.T) {
	for range 10 {
		machine := &slowMachine{make(chan struct{})}
		logs, at := raft.NewInmemStore(), loneSeat("n")
		conf := raftConfig(at, tools{log: slog.New(slog.DiscardHandler)}, 0)
		if err := bootstrap(conf, logs, logs, raft.NewDiscardSnapshotStore(), at); err != nil {
			t.Fatal(err)
		}
		r, err := at.run(conf, machine, logs, logs, raft.NewDiscardSnapshotStore(), 0, raftnet.Hooks{})
		if err != nil {
			t.Fatal(err)
		}
		committed := func(index uint64) {
			t.Helper()
			eventually(t, "entries are committed", func() error {
				if newest := r.CommitIndex(); newest < index {
					return fmt.Errorf("up to %d, want %d", newest, index)
				}
				return nil
			})
		}
		o := newOwed()
		answers := make(chan error, 2)
		for i := range 2 { // behind the configuration and the no-op of the term; each is a batch of its own
			committed(uint64(2 + i))
			go func() { answers <- o.wait(func() raft.Future { return r.Apply(nil, time.Second) }) }()
		}
		committed(4)
		ended := make(chan error, 1)
		go func() { ended <- o.close(func() error { return at.stop(r, 0) }) }()
		eventually(t, "nothing can be asked", func() error {
			if err := o.wait(nothing); err == nil {
				return errors.New("it can")
			}
			return nil
		})
		close(machine.may)
		for range 2 {
			if err := <-answers; err != nil {
				t.Fatal(err)
			}
		}
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
}

func nothing() raft.Future { return answered{} }

type answered struct{}

func (answered) Error() error { return nil }

// TestStopWithoutAnswer: an answer that does not come, as while a write of the log hangs, holds up
// neither the stop nor, after that, the call that waits for it.
func TestStopWithoutAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, never := newOwed(), make(chan struct{})
		ended := make(chan error, 1)
		go func() {
			ended <- o.wait(func() raft.Future { <-never; return answered{} })
		}()
		synctest.Wait()
		failed := errors.New("as stop says")
		began := time.Now()
		if err := o.close(func() error { return failed }); err != failed || time.Since(began) != answersWithin {
			t.Fatalf("stopped after %s: %v", time.Since(began), err)
		}
		if err := <-ended; err != raft.ErrRaftShutdown {
			t.Fatalf("the call that waited: %v", err)
		}
		if err := o.wait(nothing); err != raft.ErrRaftShutdown {
			t.Fatalf("asked after the stop: %v", err)
		}
		if err := o.close(nil); err != nil {
			t.Fatal(err)
		}
		close(never)
	})
}
