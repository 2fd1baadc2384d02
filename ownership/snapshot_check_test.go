package ownership

import (
	"errors"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// TestGaps: a start refuses what raft could not go on from, and nothing else.
// Zeros stand for what is not there.
func TestGaps(t *testing.T) {
	for _, test := range []struct {
		name                                 string
		first, last, snapshot, marker, state uint64
		want                                 string // empty: it starts
	}{
		{name: "nothing"},
		{name: "log alone, state not yet written", first: 1, last: 9},
		{name: "log alone, state at its begin", first: 1, last: 9, state: 1},
		{name: "log alone, state at its end", first: 1, last: 9, state: 9},
		{name: "log begins right behind the snapshot", first: 51, last: 60, snapshot: 50, marker: 50, state: 55},
		{name: "log begins before the snapshot", first: 43, last: 60, snapshot: 50, marker: 50, state: 50},
		{name: "log was emptied by the snapshot", snapshot: 50, marker: 50, state: 50},
		{name: "snapshot ends in entries that are no commands", first: 43, last: 50, snapshot: 50, marker: 48, state: 48},
		{name: "received, nothing logged since", snapshot: 50, marker: 70, state: 70},
		{name: "received, log of before", first: 3, last: 9, snapshot: 50, marker: 70, state: 70},
		{name: "received, log not yet at the state", first: 51, last: 60, snapshot: 50, marker: 70, state: 70},
		{name: "received, log beyond the state", first: 51, last: 90, snapshot: 50, marker: 70, state: 80},

		{name: "state behind the snapshot", first: 43, last: 60, snapshot: 50, marker: 50, state: 49, want: "state of range 7 ends at entry 49, its snapshot needs 50"},
		{name: "state gone, snapshot there", first: 43, last: 60, snapshot: 50, marker: 50, want: "state of range 7 ends at entry 0, its snapshot needs 50"},
		{name: "state behind what was received", first: 51, last: 60, snapshot: 50, marker: 70, state: 60, want: "state of range 7 ends at entry 60, its snapshot needs 70"},
		{name: "entry after the snapshot is gone", first: 52, last: 60, snapshot: 50, marker: 50, state: 50, want: "log of range 7 begins at entry 52, its snapshot ends at 50"},
		{name: "entry after the snapshot is gone, state has it", first: 52, last: 60, snapshot: 50, marker: 50, state: 55, want: "log of range 7 begins at entry 52, its snapshot ends at 50"},
		{name: "snapshot gone", first: 43, last: 60, state: 55, want: "log of range 7 begins at entry 43, its snapshot ends at 0"},
		{name: "first entry gone", first: 2, last: 9, want: "log of range 7 begins at entry 2, its snapshot ends at 0"},
		{name: "log gone", state: 9, want: "log of range 7 ends at entry 0, its state at 9"},
		{name: "log gone behind the snapshot", snapshot: 50, marker: 50, state: 55, want: "log of range 7 ends at entry 50, its state at 55"},
		{name: "end of the log gone", first: 43, last: 60, snapshot: 50, marker: 50, state: 61, want: "log of range 7 ends at entry 60, its state at 61"},
		{name: "log of before, state beyond what was received", first: 3, last: 9, snapshot: 50, marker: 70, state: 71, want: "log of range 7 ends at entry 70, its state at 71"},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := vfs.NewMem()
			r := newReplica(t, files, "cluster")
			for i := test.first; i > 0 && i <= test.last; i++ {
				if err := r.group.log.StoreLog(&raft.Log{Index: i}); err != nil {
					t.Fatal(err)
				}
			}
			put(t, r.db, state.AppliedKey(sentGroup), marshal(t, &wire.Applied{Index: test.state}))
			if test.snapshot > 0 {
				marker := &wire.Marker{Group: sentGroup, Applied: test.marker}
				if newest, err := r.group.snapshots.replace(&wire.SnapshotMeta{Index: test.snapshot, Content: marshal(t, marker)}); err != nil || !newest {
					t.Fatal(newest, err)
				}
			}
			r.close(t)
			r, err := openReplica(t, files, "")
			if err == nil {
				r.close(t)
			}
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (!errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), test.want)):
				t.Errorf("error %v, want ErrCorrupt with %q", err, test.want)
			}
		})
	}
}

// TestNewestSnapshotStays: a snapshot that ends late does not replace a newer one,
// whichever of them is received.
func TestNewestSnapshotStays(t *testing.T) {
	stream := source(t).sent(t)
	r := newReplica(t, vfs.NewMem(), "cluster")
	slow, err := r.group.snapshots.Create(1, 10, 1, raft.Configuration{}, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	local, err := r.group.fsm.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(local.Persist(slow), r.take(strings.NewReader(string(stream)), 50, never)); err != nil {
		t.Fatal(err)
	}
	if err := slow.Close(); err == nil || !strings.Contains(err.Error(), "older than what range 7 has") { // or raft would go back to it
		t.Errorf("a snapshot of this disk's state that is older: %v", err)
	}
	if list, err := r.group.snapshots.List(); err != nil || len(list) != 1 || list[0].Index != 50 {
		t.Errorf("newest snapshot %v, %v", list, err)
	}
	err = r.take(strings.NewReader(string(stream)), 49, never)
	if err == nil || !strings.Contains(err.Error(), "older than what range 7 has") {
		t.Errorf("received an older one: %v", err)
	}
	if left := leftovers(t, r.cfg.files, transferDir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestStoppedAnswersNothing: a replica whose state does not follow its log any more, which raft
// does not know, answers no read.
func TestStoppedAnswersNothing(t *testing.T) {
	r := newReplica(t, vfs.NewMem(), "cluster")
	defer r.close(t)
	told := error(nil)
	r.group.fsm.damaged = func(err error) { told = err }
	if err := r.group.fsm.gone(); err != nil {
		t.Fatal(err)
	}
	r.group.fsm.stop(disk.Corrupt("a block"))
	if err := (&repairs{}).refuse(r.group, nil); !errors.Is(err, ErrUnavailable) || !errors.Is(told, ErrCorrupt) {
		t.Errorf("a read: %v, told %v", err, told)
	}
}

// TestUnreadableMarker: a marker of another group, or none, is damage.
func TestUnreadableMarker(t *testing.T) {
	for name, content := range map[string][]byte{
		"damage": []byte("\xff"), "another group's": marshal(t, &wire.Marker{Group: 8, Applied: 1}),
	} {
		t.Run(name, func(t *testing.T) {
			files := vfs.NewMem()
			r := newReplica(t, files, "cluster")
			if _, err := r.group.snapshots.replace(&wire.SnapshotMeta{Index: 5, Content: content}); err != nil {
				t.Fatal(err)
			}
			r.close(t)
			_, err := openReplica(t, files, "")
			wantError(t, err, ErrCorrupt)
		})
	}
}

// TestReceivedFilesGone: a snapshot that counts and whose files are gone is damage,
// not a state of before.
func TestReceivedFilesGone(t *testing.T) {
	files := vfs.NewMem()
	r := newReplica(t, files, "cluster")
	marker := &wire.Marker{Group: sentGroup, Applied: 9, Received: "in-1", Files: 2}
	if _, err := r.group.snapshots.replace(&wire.SnapshotMeta{Index: 9, Content: marshal(t, marker)}); err != nil {
		t.Fatal(err)
	}
	r.close(t)
	_, err := openReplica(t, files, "")
	wantError(t, err, ErrCorrupt)
}
