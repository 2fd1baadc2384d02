package ownership

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/hashicorp/raft"
)

// powerLoss is a disk as a power loss leaves it before one of its operations.
type powerLoss struct {
	files    *vfs.MemFS
	op       string
	unsynced int // percent of what was not synced that is there all the same
	counted  bool
}

// losses clones a disk before every operation that changes it.
type losses struct {
	files   *vfs.MemFS
	seed    uint64
	on      atomic.Bool
	counted atomic.Bool // the snapshot counts

	mu  sync.Mutex
	all []powerLoss
}

// MaybeError implements errorfs.Injector.
func (l *losses) MaybeError(op errorfs.Op) error {
	if !l.on.Load() || op.Kind.ReadOrWrite() == errorfs.OpIsRead {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, percent := range []int{0, 50, 100} {
		counted := l.counted.Load() // before the clone: what counts then is there
		rng := rand.New(rand.NewPCG(l.seed, uint64(len(l.all))))
		files := l.files.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng})
		l.all = append(l.all, powerLoss{files: files, op: fmt.Sprint(op.Kind, " ", op.Path), unsynced: percent, counted: counted})
	}
	return nil
}

func (l *losses) String() string { return "losses" }

// end returns all losses. The store removes files on its own for a while longer.
func (l *losses) end() []powerLoss {
	l.on.Store(false)
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all)
}

// TestTransferPowerLoss: a power loss at any step of a restore leaves the state of
// before or the new one, whole, and the next start finds which: the new one from
// when the snapshot counts.
func TestTransferPowerLoss(t *testing.T) {
	from := source(t)
	stream := from.sent(t)
	after := ofRange(dump(t, from.db))
	for name, prepare := range before {
		t.Run(name, func(t *testing.T) {
			const seed = 1
			l := &losses{files: vfs.NewCrashableMem(), seed: seed}
			r := newReplica(t, errorfs.Wrap(l.files, l), "cluster")
			neighbours(t, r)
			flushed := ofRange(dump(t, r.db)) // for a replica that had nothing
			prepare(t, r)
			beside, old := without(dump(t, r.db)), ofRange(dump(t, r.db))
			if name == "older" {
				flushed = olderFlushed(t)
			}
			l.on.Store(true)
			if err := r.take(bytes.NewReader(stream), from.group.state.Index()-5, func() { l.counted.Store(true) }); err != nil {
				t.Fatal(err)
			}
			seen, all := make(map[string]int), l.end()
			for _, loss := range all {
				seen[l.judge(t, loss, beside, after, old, flushed)]++
			}
			t.Log(len(all), "power losses:", seen)
			if seen["old"] == 0 || seen["new"] == 0 || seen["finished"] == 0 {
				t.Errorf("power was not lost at all stages: %v", seen)
			}
		})
	}
}

// olderFlushed is what is on disk of the replica that is "older".
func olderFlushed(t *testing.T) map[string]string {
	r := newReplica(t, vfs.NewMem(), "cluster")
	r.run(t, sentCommands(t, "new", 20, 1000)[:20]...)
	return ofRange(dump(t, r.db))
}

// judge starts a replica after a power loss and says what it found.
func (l *losses) judge(t *testing.T, loss powerLoss, beside, after map[string]string, before ...map[string]string) string {
	t.Helper()
	_, err := loss.files.Stat(transferDir)
	left := err == nil
	r, err := openReplica(t, loss.files, "")
	if err != nil {
		t.Fatalf("before %s, %d%% unsynced: %v", loss.op, loss.unsynced, err)
	}
	defer r.close(t)
	all := dump(t, r.db)
	state := ofRange(all)
	if !maps.Equal(without(all), beside) {
		t.Errorf("before %s, %d%% unsynced: keys beside the range changed", loss.op, loss.unsynced)
	}
	if _, err := loss.files.Stat(transferDir); err == nil {
		t.Errorf("before %s, %d%% unsynced: left behind %v", loss.op, loss.unsynced, leftovers(t, loss.files, transferDir))
	}
	switch {
	case maps.Equal(state, after):
		if left && loss.counted {
			return "finished"
		}
		return "new"
	case loss.counted:
		t.Errorf("before %s, %d%% unsynced: the snapshot counted, the state is older", loss.op, loss.unsynced)
	}
	for _, old := range before {
		if maps.Equal(state, old) {
			return "old"
		}
	}
	t.Errorf("before %s, %d%% unsynced: state is neither old nor new: %d keys", loss.op, loss.unsynced, len(state))
	return "mixed"
}

// TestTransferFailedFiles: bad-input.md, row 60. An error of any operation on a
// received state's files is an error of the restore or changes nothing: the state
// is the one of before or the new one, at once and after a restart.
func TestTransferFailedFiles(t *testing.T) {
	from := source(t)
	stream := from.sent(t)
	after, flushed := ofRange(dump(t, from.db)), olderFlushed(t)
	failed := 0
	for i := int32(0); ; i++ {
		files := vfs.NewCrashableMem()
		var on atomic.Bool
		count := i
		inject := errorfs.InjectorFunc(func(op errorfs.Op) error {
			if !on.Load() || !strings.HasPrefix(op.Path, transferDir) {
				return nil
			}
			if count--; count == -1 {
				return errors.New("injected: no space left on device")
			}
			return nil
		})
		r := newReplica(t, errorfs.Wrap(files, inject), "cluster")
		before["older"](t, r)
		old := ofRange(dump(t, r.db))
		on.Store(true)
		err := r.take(bytes.NewReader(stream), from.group.state.Index(), never)
		on.Store(false)
		state := ofRange(dump(t, r.db))
		isOld, isNew := maps.Equal(state, old), maps.Equal(state, after)
		switch {
		case !isOld && !isNew:
			t.Fatalf("operation %d: neither old nor new after %v", i, err)
		case err == nil && !isNew:
			t.Fatalf("operation %d: the state is old without an error", i)
		case err != nil:
			failed++
		}
		if got := r.group.state.String(); isNew && got != from.group.state.String() {
			t.Fatalf("operation %d: in memory %s", i, got)
		}
		r.close(t)
		r = newReplica(t, files, "")
		again := ofRange(dump(t, r.db))
		if !maps.Equal(again, after) && (isNew || !maps.Equal(again, old) && !maps.Equal(again, flushed)) {
			t.Fatalf("operation %d: another state after a restart", i)
		}
		// A second try finds nothing in its way.
		if isOld && r.group.state.Index() < from.group.state.Index() {
			if err := r.take(bytes.NewReader(stream), from.group.state.Index(), never); err != nil {
				t.Fatalf("operation %d: second try: %v", i, err)
			}
		}
		r.close(t)
		if count >= 0 {
			break // there was no operation i
		}
	}
	if failed < 20 {
		t.Errorf("only %d operations failed", failed)
	}
	t.Log(failed, "operations failed")
}

// TestRestoreBehindTheLog: the log has led beyond a stream while it came, so nothing is
// put in place. What the log had led to is on disk all the same before the log is cut.
func TestRestoreBehindTheLog(t *testing.T) {
	commands := sentCommands(t, "new", 20, 1000)
	from := newReplica(t, vfs.NewMem(), "cluster")
	from.run(t, commands[:30]...)
	stream := from.sent(t)

	files := vfs.NewCrashableMem()
	r := newReplica(t, files, "cluster")
	r.run(t, commands[:20]...)
	sink, err := r.group.snapshots.Create(1, 25, 1, raft.Configuration{}, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	half := len(stream) / 2
	if _, err := sink.Write(stream[:half]); err != nil {
		t.Fatal(err)
	}
	r.run(t, commands[20:40]...)
	want := ofRange(dump(t, r.db))
	if _, err := sink.Write(stream[half:]); err != nil {
		t.Fatal(err)
	}
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	_, received, err := r.group.snapshots.Open(sink.ID())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.group.fsm.Restore(received), received.Close(), r.group.log.DeleteRange(1, 25)); err != nil {
		t.Fatal(err)
	}
	if got := ofRange(dump(t, r.db)); !maps.Equal(got, want) {
		t.Error("state went back to that of the stream")
	}
	r.run(t, commands[40]) // makes the cut durable
	again := newReplica(t, files.CrashClone(vfs.CrashCloneCfg{}), "")
	if got := ofRange(dump(t, again.db)); !maps.Equal(got, want) {
		t.Errorf("%d keys after a power loss, want %d", len(got), len(want))
	}
}
