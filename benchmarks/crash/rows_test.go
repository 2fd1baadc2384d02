package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/benchmarks/internal/diskfault"
	"github.com/seed-91e7e7c1/corona/benchmarks/internal/diskfault/diskfaulttest"
	"github.com/seed-91e7e7c1/corona/benchmarks/internal/witness"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/child"
)

// Rows of bad input that only a real process on a real disk can show, one by one
// and without chance.

// scenario is a node and its client.
type scenario struct {
	*node
	t        *testing.T
	client   *witness.Client
	recorder *witness.Recorder
}

// program builds the node once for all tests, into a folder that TestMain removes.
var program = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "corona-rows-")
	if err != nil {
		return "", err
	}
	built = folder
	return child.Build(context.Background(), folder)
})

var built string

func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(built)
	os.Exit(code)
}

// newScenario starts a node on a disk of so many bytes, or on the machine's with 0.
func newScenario(t *testing.T, disk int64) *scenario {
	t.Helper()
	binary, err := program()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := makeDisk(t.Context(), folder, disk); err != nil {
		t.Fatal(err)
	}
	if disk > 0 {
		t.Cleanup(func() {
			if err := takeDisk(folder, false); err != nil {
				t.Error(err)
			}
		})
	}
	node, err := newNode(t.Context(), folder, binary)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := node.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(node.LogTail())
		}
	})
	recorder := witness.NewRecorder()
	s := &scenario{node: node, t: t, recorder: recorder, client: witness.NewClient(recorder, "http://"+node.address)}
	s.serve()
	return s
}

// serve starts a process and waits until it serves.
func (s *scenario) serve() {
	s.t.Helper()
	if err := s.Start(); err != nil {
		s.t.Fatal(err)
	}
	if err := child.AwaitURL(s.t.Context(), "http://"+s.address+"/readyz", s.Process); err != nil {
		s.t.Fatal(err)
	}
}

// subscribe asks once for a new subscription to a channel that has none.
func (s *scenario) subscribe() *witness.SubscribeRecord {
	record := &witness.SubscribeRecord{Sink: api.Sink{Type: api.SinkSSE}}
	s.recorder.With(func(h *witness.History) {
		record.Channel = len(h.Channels)
		record.Key = fmt.Sprintf("key-%d", record.Channel)
		url := fmt.Sprintf("http://127.0.0.1:8099/%d", record.Channel)
		h.Channels = append(h.Channels, &witness.ChannelRecord{Number: record.Channel, URL: url, ID: channel.IDOf(url)})
		h.Subscribes = append(h.Subscribes, record)
	})
	s.client.Subscribe(s.t.Context(), record)
	return record
}

// wantSubscribed subscribes until that is acknowledged, within AcceptWithin.
func (s *scenario) wantSubscribed() *witness.SubscribeRecord {
	s.t.Helper()
	var record *witness.SubscribeRecord
	err := child.Await(s.t.Context(), "a subscription to be accepted", witness.AcceptWithin, func() (bool, error) {
		record = s.subscribe()
		return record.Acked() != nil, nil
	}, s.Process)
	if err != nil {
		s.t.Fatal(err)
	}
	return record
}

// wantKept holds that all is there that was acknowledged, and nothing that was
// Deleted or refused.
func (s *scenario) wantKept() {
	s.t.Helper()
	snapshot, err := s.client.Snapshot(s.t.Context(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	listed := make(map[string]string) // channel's URL to subscription: each has one
	for _, sub := range snapshot.Listing {
		listed[sub.URL] = sub.ID
	}
	s.recorder.With(func(h *witness.History) {
		for _, record := range h.Subscribes {
			url := h.Channels[record.Channel].URL
			switch id, there := listed[url]; {
			case record.Deleted() != nil && there:
				s.t.Errorf("subscription %s to %s was deleted and is there", id, url)
			case record.RefusedForSpace() && there:
				s.t.Errorf("subscription %s to %s was refused and is there", id, url)
			case record.Deleted() == nil && record.Acked() != nil && record.Acked().Subscription.ID != id:
				s.t.Errorf("subscription to %s is %q, was acknowledged as %s", url, id, record.Acked().Subscription.ID)
			}
		}
	})
}

// wantEnded waits for the end of the process, with code 3 and a message.
func (s *scenario) wantEnded(within time.Duration, message string) {
	s.t.Helper()
	code, ended := s.AwaitEnd(s.t.Context(), within)
	if !ended {
		s.t.Fatalf("has not ended within %s", within)
	}
	if said, err := witness.LastWords(s.Process); err != nil || code != witness.FailedCode || !strings.Contains(said, message) {
		s.t.Errorf("ended with code %d, said %q (%v); want %d and %q", code, said, err, witness.FailedCode, message)
	}
}

// inject makes the process's disk fail until stop is called.
func (s *scenario) inject(injection diskfault.Injection) (stop func() diskfault.Trace) {
	s.t.Helper()
	tracer, err := diskfault.Attach(s.t.Context(), s.PID(), s.data, filepath.Join(s.t.TempDir(), "strace"), injection)
	if err != nil {
		s.t.Fatal(err)
	}
	stop = sync.OnceValue(func() diskfault.Trace {
		trace, err := tracer.Detach()
		if err != nil {
			s.t.Error(err)
		}
		return trace
	})
	s.t.Cleanup(func() { stop() })
	return stop
}

// TestRow60FullDisk: a full disk refuses subscriptions, deletes, starts as long as
// there is its ballast and refuses to start after that, and accepts again when
// there is space; what was acknowledged is there throughout.
func TestRow60FullDisk(t *testing.T) {
	t.Parallel()
	diskfaulttest.Need(t, diskfault.CanMount(t.Context()))
	s := newScenario(t, 128<<20)
	s.wantSubscribed()
	dropped := s.wantSubscribed()
	err := child.Await(t.Context(), "the ballast", 2*witness.NoticeWithin, func() (bool, error) {
		found, err := filepath.Glob(filepath.Join(s.folder, diskName, "*", "BALLAST"))
		return len(found) > 0, err // it is made within a second of the first subscription
	}, s.Process)
	if err != nil {
		t.Fatal(err)
	}
	filler := diskfault.Filler{Name: filepath.Join(s.folder, diskName, "filler")}
	if err := filler.Fill(0); err != nil {
		t.Fatal(err)
	}
	err = child.Await(t.Context(), "a 507", 2*witness.NoticeWithin, func() (bool, error) {
		return s.subscribe().RefusedForSpace(), nil // it is a second until the node looks
	}, s.Process)
	if err != nil {
		t.Fatal(err)
	}
	if outcome := s.client.Unsubscribe(t.Context(), dropped).Outcome; outcome != witness.Acked {
		t.Errorf("deleting on a full disk: status %d", dropped.Deletes[0].Status)
	}
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	s.serve()
	s.wantKept()
	if record := s.subscribe(); !record.RefusedForSpace() {
		t.Errorf("a process that began on a full disk answers %d", record.Attempts[0].Status)
	}
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := filler.Fill(0); err != nil { // what the ballast was
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	s.wantEnded(readyWithin, "not enough space")
	if err := filler.Free(); err != nil {
		t.Fatal(err)
	}
	s.serve()
	s.wantSubscribed()
	s.wantKept()
}

// TestRow60FailedWrites: writes fail for want of space, in the log and elsewhere:
// nothing acknowledged is lost, and the same process goes on afterwards.
func TestRow60FailedWrites(t *testing.T) {
	t.Parallel()
	diskfaulttest.Need(t, diskfault.CanTrace(t.Context()))
	s := newScenario(t, 0)
	s.wantSubscribed()
	stop := s.inject(diskfault.NoSpace(1, 1))
	// The first finds out: its write waits, and it may be made when there is space.
	open := s.subscribe()
	if open.Acked() != nil {
		t.Error("acknowledged though nothing can be written")
	}
	if refused := s.subscribe(); !refused.RefusedForSpace() {
		t.Errorf("the next one is answered %d, want 507", refused.Attempts[0].Status)
	}
	if trace := stop(); len(trace.Hits) == 0 {
		t.Fatal("no write failed")
	}
	s.wantSubscribed()
	if outcome := s.client.Subscribe(t.Context(), open).Outcome; outcome != witness.Acked {
		t.Errorf("the first one again: status %d", open.Attempts[1].Status)
	}
	for range 2 {
		s.wantKept()
		if err := s.Kill(); err != nil {
			t.Fatal(err)
		}
		s.serve()
	}
}

// TestRow61: a failed fsync ends the process, nothing is acknowledged after it,
// and what was before is there.
func TestRow61(t *testing.T) {
	t.Parallel()
	diskfaulttest.Need(t, diskfault.CanTrace(t.Context()))
	s := newScenario(t, 0)
	s.wantSubscribed()
	stop := s.inject(diskfault.FailedSync(1))
	if lost := s.subscribe(); lost.Acked() != nil {
		t.Error("acknowledged though its sync failed")
	}
	s.wantEnded(witness.StopWithin, witness.FailedMessage)
	if trace := stop(); len(trace.Hits) == 0 || trace.Exited.Sub(trace.Hits[0].At) > witness.StopWithin {
		t.Errorf("%+v", trace)
	}
	s.serve()
	s.wantKept()
}

// TestRow62: a sync that takes 15 s ends the process, so that others can go on; one
// that takes a second delays answers.
func TestRow62(t *testing.T) {
	t.Parallel()
	diskfaulttest.Need(t, diskfault.CanTrace(t.Context()))
	s := newScenario(t, 0)
	stop := s.inject(diskfault.SlowSync(time.Second))
	kept := s.subscribe() // two commits, for which there are 2 s each
	for kept.Acked() == nil && len(kept.Attempts) < 5 {
		s.client.Subscribe(t.Context(), kept)
	}
	stop()
	if kept.Acked() == nil {
		t.Fatalf("syncs of a second: status %d", kept.Attempts[0].Status)
	}
	stop = s.inject(diskfault.SlowSync(witness.StalledSync))
	if late := s.subscribe(); late.Acked() != nil {
		t.Error("acknowledged though its sync hangs")
	}
	s.AwaitEnd(t.Context(), witness.StopStalled)
	trace := stop() // what ended in a delayed call is not seen before
	s.wantEnded(exitWithin, witness.FailedMessage)
	if took := trace.Exited.Sub(trace.Hits[0].At); took > witness.StopStalled {
		t.Errorf("ended after %s", took)
	}
	s.serve()
	s.wantKept()
}

// TestRow63: a second process on a data directory refuses, and the first goes on.
func TestRow63(t *testing.T) {
	t.Parallel()
	s := newScenario(t, 0)
	s.wantSubscribed()
	binary, err := program()
	if err != nil {
		t.Fatal(err)
	}
	second, err := newNode(t.Context(), s.folder, binary)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	code, ended := second.AwaitEnd(t.Context(), readyWithin)
	if !ended || code != witness.FailedCode {
		t.Errorf("the second process: ended %t with code %d, want %d; %s", ended, code, witness.FailedCode, second.LogTail())
	}
	s.wantSubscribed()
	s.wantKept()
}
