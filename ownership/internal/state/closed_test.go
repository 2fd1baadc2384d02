package state

import (
	"sync"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// TestClosedAfterNewest: the newest stamp is published before the closed time. A reader
// whose cursor is at the newest stamp that it knows of skips the read and moves to the
// closed time: it would miss an update below that of which it did not know yet.
func TestClosedAfterNewest(t *testing.T) {
	m := newMachine(t)
	const url = "http://example.com/"
	id := channel.IDOf(url)
	m.apply(t, day0, subscribeCommand(item(url, stream)))
	commit := func(version uint64) {
		c := &wire.Commit{Channel: id[:], Incarnation: 1, Base: version - 1, Version: version, Hash: make([]byte, hashLen), AtUs: 1}
		if version > 1 {
			c.Hash, c.Update = nil, []byte("update")
		}
		if r := m.apply(t, day0.Add(time.Duration(version)*time.Second), &wire.Command{Change: &wire.Command_Commit{Commit: c}}); r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	commit(1)
	commit(2)
	over := make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() {
		for looks := 0; ; looks++ {
			closed := m.Time()
			if newest := m.NewestStamp(); newest < closed {
				t.Errorf("closed up to %d, where an update is, and the newest known is at %d", closed, newest)
				return
			}
			select {
			case <-over:
				if looks == 0 {
					t.Error("no look")
				}
				return
			default:
			}
		}
	})
	for version := uint64(3); version < 30000; version++ {
		commit(version)
	}
	close(over)
	reading.Wait()
}
