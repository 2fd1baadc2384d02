package ownership

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/volume"
)

const faultDir = "OWNERSHIP_TEST_FAULT_DIR"

// TestEveryFault: bad-input.md, rows 60 and 61. Whichever write, fsync or change of
// a directory of log and state fails, while the store is founded, works, is cut and
// closed: what was acknowledged is there at the next start. One that finds no space
// ends nothing; one that the disk refuses ends the process, before another answer.
//
// Stores whose process would have ended are left as they are, so all runs in a child.
func TestEveryFault(t *testing.T) {
	if dir := os.Getenv(faultDir); dir != "" {
		everyFault(dir)
	}
	child := exec.Command(os.Args[0], "-test.run", "^TestEveryFault$")
	child.Env = append(os.Environ(), faultDir+"="+t.TempDir())
	out, err := child.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// everyFault is the child.
func everyFault(dir string) {
	whole := &trial{dir: filepath.Join(dir, "whole"), at: -1}
	if err := whole.run(); err != nil {
		fmt.Println("without a fault:", err)
		os.Exit(1)
	}
	var failed, fatal atomic.Int32
	var running sync.WaitGroup
	room := make(chan struct{}, 24) // trials at a time: they wait for elections most of the time
	ops := int(whole.ops.Load())
	for at := range ops {
		for _, fault := range []error{syscall.ENOSPC, syscall.EIO} {
			room <- struct{}{}
			running.Go(func() {
				defer func() { <-room }()
				one := &trial{dir: filepath.Join(dir, fmt.Sprint(at, uintptr(fault.(syscall.Errno)))), at: int64(at), fault: fault}
				if err := one.run(); err != nil {
					failed.Add(1)
					fmt.Printf("%v at operation %d, kind %d of %s: %v\n", fault, at, one.hit.Kind, one.hit.Path, err)
				}
				if one.fatal != nil {
					fatal.Add(1)
				}
			})
		}
	}
	running.Wait()
	fmt.Printf("%d operations, 2 faults each: %d ended the process, %d failed the test\n", ops, fatal.Load(), failed.Load())
	if failed.Load() > 0 || ops < 40 || int(fatal.Load()) < ops/2 {
		os.Exit(1)
	}
	os.Exit(0)
}

// trial runs a small workload on a disk that fails once.
type trial struct {
	dir   string // of the meta group, and of the volume
	at    int64  // the operation that fails, −1 for none
	fault error

	mem  *vfs.MemFS
	ops  atomic.Int64
	died chan struct{}

	mu       sync.Mutex
	hit      errorfs.Op // that failed
	fatal    error
	left     *vfs.MemFS // what the process left on the disk; nil while it lives
	copied   error      // of the meta group's file
	made     []string   // subscriptions that were acknowledged
	ended    []string
	versions map[channel.ID]uint64
}

// MaybeError implements errorfs.Injector.
func (t *trial) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || t.ops.Add(1)-1 != t.at {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hit = op
	return t.fault
}

func (t *trial) String() string { return "the operation of a trial" }

// run returns what is wrong.
func (t *trial) run() error {
	t.mem, t.died, t.versions = vfs.NewCrashableMem(), make(chan struct{}), make(map[channel.ID]uint64)
	ended := make(chan error, 1)
	go func() { ended <- t.work() }()
	select {
	case err := <-ended:
		if err != nil && t.fault == nil {
			return err
		}
	case <-t.died:
	case <-time.After(time.Minute):
		return errors.New("hangs")
	}
	t.leave(nil)
	if t.fatal != nil && t.fault == syscall.ENOSPC && !t.lost() {
		return fmt.Errorf("lack of space ended the process: %w", t.fatal)
	}
	return t.check()
}

// lost reports that what failed cannot be tried again, whatever the reason.
func (t *trial) lost() bool {
	return slices.Contains([]errorfs.OpKind{errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo, errorfs.OpFileClose}, t.hit.Kind)
}

// leave ends the process of a trial.
func (t *trial) leave(fatal error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.left != nil {
		return
	}
	t.fatal = fatal
	// What goes on in other goroutines goes on in the meta group's file, too: it is
	// copied first, so that it is not of a later time than the rest.
	t.copied = t.copyMeta()
	keep := 0 // a failed fsync forgets what it was to write, for good
	if fatal == nil {
		keep = 100
	}
	t.left = t.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: keep, RNG: rand.New(rand.NewPCG(0, 0))})
	close(t.died)
}

// copyMeta copies the meta group's file and its checksum as they are at one moment.
func (t *trial) copyMeta() (err error) {
	sum := &fileSum{of: filepath.Join(t.dir, "ranges", "meta", "raft.db")}
	for {
		before, _ := os.ReadFile(sum.path()) // not there yet is as good
		err = errors.Join(os.RemoveAll(t.copy()), os.CopyFS(t.copy(), os.DirFS(t.dir)))
		after, _ := os.ReadFile(sum.path())
		renamed := errors.Is(err, fs.ErrNotExist) // a file had another name when it was to be read
		if !renamed && (err != nil || bytes.Equal(before, after)) {
			return err
		}
	}
}

// copy returns the directory of the next process: the one that ended may still write to its own.
func (t *trial) copy() string { return t.dir + " copy" }

// moveStores moves log and state, as far as they are there, to the directory of the next process.
func (t *trial) moveStores() error {
	from, to := filepath.Join(t.dir, "ranges"), filepath.Join(t.copy(), "ranges")
	err := errors.Join(t.left.MkdirAll(t.copy(), dirPerm), t.left.Rename(from, to))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// ack notes an acknowledgement of a process that lives.
func (t *trial) ack(err error, note func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil && t.left == nil {
		note()
	}
}

// doubt returns the newest subscription, which the test no longer expects to be there.
func (t *trial) doubt() (last string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.made); n > 0 && t.left == nil {
		last, t.made = t.made[n-1], t.made[:n-1]
	}
	return last
}

func (t *trial) config(dir string, files vfs.FS, fatal func(error)) (Config, error) {
	v, err := volume.Open(volume.Config{Dir: dir, Reserve: volume.LeastReserve, Fatal: fatal})
	return Config{
		Dir: filepath.Join(dir, "ranges"), Node: "one", Ranges: 1, SweepInterval: time.Hour,
		Volume: v, Fatal: fatal, files: files,
	}, err
}

// work is what the process does.
func (t *trial) work() error {
	if err := os.MkdirAll(t.dir, 0o700); err != nil {
		return err
	}
	cfg, err := t.config(t.dir, errorfs.Wrap(t.mem, t), func(err error) {
		t.leave(err)
		select {} // nothing goes on in a process that has ended
	})
	if err != nil {
		return err
	}
	s, err := openSoon(cfg)
	if err != nil {
		return err
	}
	for round := range 2 {
		t.round(s, round)
		s.snapshotAll()
	}
	return s.Close()
}

// round does one of everything, and takes it as it comes.
func (t *trial) round(s *Store, round int) {
	ctx := context.Background()
	for i, sink := range []channel.Sink{stream, webhook, stream} {
		r := s.Subscribe(ctx, []NewSubscription{wish(fmt.Sprintf("http://example.com/%d", (round+i)%4), "", sink)})[0]
		t.ack(r.Err, func() { t.made = append(t.made, r.ID) })
		c, err := s.Channel(r.Channel)
		if r.Err != nil || err != nil {
			continue
		}
		next := nextCommit(c)
		t.ack(s.Commit(ctx, next), func() { t.versions[c.ID] = next.Version })
		_ = s.Advance(ctx, []channel.Progress{{Channel: c.ID, Incarnation: c.Incarnation, Version: max(c.Version, 1), Seq: r.Seq}})
	}
	if last := t.doubt(); last != "" {
		t.ack(s.Unsubscribe(ctx, last), func() { t.ended = append(t.ended, last) })
	}
}

// check starts again from what was left, on a disk without faults.
func (t *trial) check() error {
	if err := errors.Join(t.copied, t.moveStores()); err != nil {
		return err
	}
	var fatal error
	cfg, err := t.config(t.copy(), t.left, func(err error) { fatal = err })
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := Open(ctx, cfg)
	if err != nil {
		return fmt.Errorf("start again: %w", err)
	}
	for _, id := range t.made {
		if _, missing := s.Subscription(id); missing != nil {
			err = errors.Join(err, fmt.Errorf("acknowledged subscription %s: %w", id, missing))
		}
	}
	for _, id := range t.ended {
		if _, there := s.Subscription(id); !errors.Is(there, channel.ErrNotFound) {
			err = errors.Join(err, fmt.Errorf("deleted subscription %s: %w", id, there))
		}
	}
	for id, version := range t.versions {
		if c, missing := s.Channel(id); missing != nil || c.Version < version {
			err = errors.Join(err, fmt.Errorf("channel %s has version %d, %d was acknowledged: %w", id, c.Version, version, missing))
		}
	}
	return errors.Join(err, s.Close(), fatal)
}

// TestFoundedHalf: bad-input.md, row 60. A founding that ended between raft's two
// writes, the term and the voters, is finished by the next start: of the meta group
// here, of ranges in TestEveryFault.
func TestFoundedHalf(t *testing.T) {
	cfg := testConfig(t)
	if _, err := checkFormat(cfg.Dir); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cfg.Dir, "meta")
	if err := os.MkdirAll(dir, dirPerm); err != nil {
		t.Fatal(err)
	}
	store, err := openMetaStore(filepath.Join(dir, "raft.db"), nil, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(store.SetUint64([]byte("CurrentTerm"), 1), store.Close()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := Open(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	shut(t, s)
}
