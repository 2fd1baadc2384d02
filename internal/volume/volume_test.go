package volume

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// disk is a file system as the tests want it.
type disk struct{ free, total uint64 }

func (d *disk) usage(string) (uint64, uint64, error) { return d.free, d.total, nil }

const (
	mib     = 1 << 20
	reserve = 16 * mib
)

// open returns a volume of a disk, what it logs, and what it found fatal. Nothing
// watches it.
func open(t *testing.T, d *disk) (v *Volume, logged *bytes.Buffer, fatal *[]error) {
	t.Helper()
	logged, fatal = new(bytes.Buffer), new([]error)
	v, err := Open(Config{
		Dir: t.TempDir(), Reserve: reserve, Usage: d.usage,
		Logger:     slog.New(slog.NewTextHandler(logged, nil)),
		Fatal:      func(err error) { *fatal = append(*fatal, err) },
		Registerer: prometheus.NewRegistry(),
	})
	if err != nil {
		t.Fatal(err)
	}
	v.Protect()
	v.look(time.Now())
	return v, logged, fatal
}

// A ballast takes no space of a node that has nothing to lose, and the caller that
// gives it something does not wait for it.
func TestBallastWaitsForSomethingToLose(t *testing.T) {
	v, err := Open(Config{Dir: t.TempDir(), Reserve: reserve, Usage: (&disk{free: 100 * mib, total: 1000 * mib}).usage})
	if err != nil {
		t.Fatal(err)
	}
	held := func(want uint64) {
		t.Helper()
		info, err := os.Stat(filepath.Join(v.config.Dir, ballastFile))
		if (err == nil) != (want > 0) || v.ballast.held() != want || want > 0 && allocated(info) != want {
			t.Errorf("ballast of %d bytes, %v; want %d", v.ballast.held(), err, want)
		}
	}
	now := time.Now()
	v.look(now)
	held(0)
	v.Protect()
	held(0)
	v.look(now.Add(time.Second))
	held(reserve / 4)
}

// value reads a counter or a gauge.
func value(t *testing.T, c prometheus.Collector) float64 {
	t.Helper()
	var m dto.Metric
	if err := c.(prometheus.Metric).Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetCounter().GetValue() + m.GetGauge().GetValue()
}

func TestNext(t *testing.T) {
	const r = 16 * mib
	for _, test := range []struct {
		before Level
		room   uint64
		want   Level
	}{
		{OK, r, OK},
		{OK, r - 1, Low},
		{OK, r/2 - 1, Critical},
		{Low, r, Low},
		{Low, r + r/2 - 1, Low},
		{Low, r + r/2, OK},
		{Low, r / 2, Low},
		{Low, r/2 - 1, Critical},
		{Critical, r / 2, Critical},
		{Critical, r/4*3 - 1, Critical},
		{Critical, r / 4 * 3, Low},
		{Critical, r + r/2, OK},
	} {
		if got := test.before.next(test.room, r); got != test.want {
			t.Errorf("%s with %d of %d bytes: %s, want %s", test.before, test.room, r, got, test.want)
		}
	}
}

func TestReserve(t *testing.T) {
	for total, want := range map[uint64]uint64{
		16 * mib: LeastReserve, 64 * mib: 64 * mib / 10, 1 << 40: 1 << 30,
	} {
		if got := DefaultReserve(total); got != want {
			t.Errorf("reserve of %d bytes: %d, want %d", total, got, want)
		}
	}
	for reserve, want := range map[uint64]uint64{LeastReserve: mib, 64 * mib: 4 * mib, 1 << 30: 64 * mib, 1 << 40: 64 * mib} {
		if got := (&Volume{reserve: reserve}).MemTable(); got != want {
			t.Errorf("memtable with a reserve of %d: %d, want %d", reserve, got, want)
		}
	}
	if got := (*Volume)(nil).MemTable(); got != 64*mib {
		t.Errorf("memtable without a volume: %d", got)
	}
}

// TestLevels: row 60. A disk that fills up and empties again, as what is refused,
// with the ballast given up in time and put back.
func TestLevels(t *testing.T) {
	d := &disk{free: 100 * mib, total: 1000 * mib}
	v, logged, _ := open(t, d)
	ballast := filepath.Join(v.config.Dir, ballastFile)
	now := time.Unix(1, 0)
	for _, step := range []struct {
		free    uint64
		want    Level
		ballast bool
	}{
		{100 * mib, OK, true},
		{13 * mib, OK, true}, // the ballast is room too
		{11 * mib, Low, true},
		{4 * mib, Low, true},
		{3 * mib, Critical, false},
		{9 * mib, Critical, false},
		{13 * mib, Low, false},
		{23 * mib, Low, false},
		{25 * mib, OK, true},
	} {
		d.free = step.free
		v.look(now)
		info, err := os.Stat(ballast)
		if v.Level() != step.want || (err == nil) != step.ballast {
			t.Fatalf("%d MiB free: %s, ballast %v; want %s, ballast %t\n%s", step.free/mib, v.Level(), err, step.want, step.ballast, logged)
		}
		if err == nil && allocated(info) < reserve/4 {
			t.Errorf("ballast has %d bytes on the disk, want %d", allocated(info), reserve/4)
		}
	}
	if lines := strings.Count(logged.String(), "reserve_bytes="); lines != 4 {
		t.Errorf("%d changes of the level were logged, want 4:\n%s", lines, logged)
	}
}

// TestHoldFull: row 60. A write that found no space counts for a while, whatever is
// said to be free; row 65: that while does not depend on what the clock is set to.
func TestHoldFull(t *testing.T) {
	v, _, _ := open(t, &disk{free: 100 * mib, total: 1000 * mib})
	now := time.Now()
	v.full(now)
	for _, step := range []struct {
		after time.Duration
		want  Level
	}{{0, Critical}, {holdFull - 1, Critical}, {holdFull, OK}} {
		if v.look(now.Add(step.after)); v.Level() != step.want {
			t.Errorf("%s after %s, want %s", v.Level(), step.after, step.want)
		}
	}
	if till := *v.fullTill.Load(); till == till.Round(0) {
		t.Error("it goes by the wall clock")
	}
}

// TestRefusesToStart: row 60. Where a node could not work, nothing is written.
func TestRefusesToStart(t *testing.T) {
	for name, test := range map[string]struct {
		disk    disk
		reserve uint64
		want    string
	}{
		"full":              {disk{free: mib, total: 1000 * mib}, 16 * mib, "delete or move something"},
		"small":             {disk{free: 7 * mib, total: 7 * mib}, 0, "at most half of the file system"},
		"reserve too small": {disk{free: 100 * mib, total: 100 * mib}, mib, "want 4194304 at least"},
		"reserve too large": {disk{free: 100 * mib, total: 100 * mib}, 60 * mib, "at most half of the file system"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			_, err := Open(Config{Dir: dir, Reserve: test.reserve, Usage: test.disk.usage})
			if err == nil || !strings.Contains(err.Error(), test.want) || (name == "full") != errors.Is(err, ErrFull) || (name == "full") == errors.Is(err, ErrReserve) {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
				t.Errorf("left %v, %v", entries, err)
			}
		})
	}
}

// TestStartsOnItsBallast: row 60. A disk that others have filled while the node was
// down still has what the ballast holds.
func TestStartsOnItsBallast(t *testing.T) {
	d := &disk{free: 100 * mib, total: 1000 * mib}
	v, _, _ := open(t, d)
	v.Close()
	d.free = 0
	again, err := Open(Config{Dir: v.config.Dir, Reserve: reserve, Usage: d.usage})
	if err != nil {
		t.Fatal(err)
	}
	if status := again.Status(); status.Level != Critical || status.Ballast != 0 {
		t.Errorf("%+v, want a critical level and the ballast given up", status)
	}
}

func TestBallastOfAnotherSize(t *testing.T) {
	b := ballast{}
	b.open(filepath.Join(t.TempDir(), ballastFile), 4*mib)
	if err := os.WriteFile(b.path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(b.path, 4*mib); err != nil { // a copy with a hole for all of it
		t.Fatal(err)
	}
	b.open(b.path, b.size)
	if kept, err := b.keep(time.Now()); kept != 4*mib || err != nil {
		t.Errorf("kept %d, %v", kept, err)
	}
	b.open(b.path, mib)
	if kept, err := b.keep(time.Now()); kept != mib || err != nil {
		t.Errorf("kept %d, %v, want a smaller one", kept, err)
	}
	if kept, err := b.keep(time.Now()); kept != 0 || err != nil {
		t.Errorf("kept %d again, %v", kept, err)
	}
}

// TestNoBallast: row 60. Where no ballast can be had that is said once, and seldom
// tried: each attempt takes, for a moment, what a quota leaves to the others.
func TestNoBallast(t *testing.T) {
	d := &disk{free: 100 * mib, total: 1000 * mib}
	v, logged, _ := open(t, d)
	v.release()
	logged.Reset()
	there := v.ballast.path
	v.ballast.path = filepath.Join(v.config.Dir, "nowhere", ballastFile)
	now := time.Now()
	v.look(now)
	v.look(now.Add(keepAgain))
	if v.ballast.held() > 0 || strings.Count(logged.String(), "no ballast") != 1 {
		t.Errorf("ballast of %d bytes: %s", v.ballast.held(), logged)
	}
	v.ballast.path = there
	for _, step := range []struct {
		after time.Duration
		held  bool
	}{{2*keepAgain - 1, false}, {2 * keepAgain, true}} {
		if v.look(now.Add(step.after)); (v.ballast.held() > 0) != step.held {
			t.Errorf("ballast of %d bytes after %s", v.ballast.held(), step.after)
		}
	}
}

// TestHung: row 62. A write that does not return is counted after a second, and ends
// the process after ten; one that returns in time does not.
func TestHung(t *testing.T) {
	for _, test := range []struct {
		pending   time.Duration
		slow      float64
		wantFatal int
	}{
		{900 * time.Millisecond, 0, 0},
		{5 * time.Second, 1, 0},
		{9500 * time.Millisecond, 1, 0},
		{12 * time.Second, 1, 1},
	} {
		t.Run(test.pending.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v, logged, fatal := open(t, &disk{free: 100 * mib, total: 1000 * mib})
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					v.Run(ctx)
				}()
				_ = v.Do("sync", "the file", func() error {
					time.Sleep(test.pending - time.Millisecond)
					if age := value(t, v.metrics.all[len(v.metrics.all)-1]); age < test.pending.Seconds()-0.1 {
						t.Errorf("gauge says %g s", age)
					}
					time.Sleep(time.Millisecond)
					return nil
				})
				cancel()
				<-ended
				if slow := value(t, v.metrics.slow); slow != test.slow || len(*fatal) != test.wantFatal {
					t.Errorf("slow %g times, fatal %v; want %g, %d\n%s", slow, *fatal, test.slow, test.wantFatal, logged)
				}
				if test.wantFatal > 0 && !strings.Contains((*fatal)[0].Error(), "disk hangs: sync the file is not done after 10s") {
					t.Errorf("fatal: %v", (*fatal)[0])
				}
				if _, age := v.pending.longest(); age != 0 {
					t.Errorf("pending for %s after it returned", age)
				}
			})
		})
	}
}

// TestHungStatfs: row 62. A disk that does not even say how much of it is free is a
// disk that hangs, and the watchdog notices it all the same.
func TestHungStatfs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, _, fatal := open(t, &disk{free: 100 * mib, total: 1000 * mib})
		v.config.Usage = func(string) (uint64, uint64, error) {
			time.Sleep(15 * time.Second)
			return 0, 0, syscall.EIO
		}
		ctx, cancel := context.WithTimeout(t.Context(), 14*time.Second)
		defer cancel()
		v.Run(ctx)
		if len(*fatal) != 1 {
			t.Errorf("fatal %v", *fatal)
		}
	})
}

// TestStopped: row 62. Time in which the process was stopped, and could not even
// notice that a write had ended, is not the disk's; a disk that hangs all the same is
// found out later.
func TestStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, _, fatal := open(t, &disk{free: 100 * mib, total: 1000 * mib})
		dog := watchdog{v, time.Now()}
		wrote, hangs := v.pending.add("wrote"), v.pending.add("hangs")
		wrote.begin("sync")
		hangs.begin("sync")
		time.Sleep(time.Hour) // and the watchdog does not look
		dog.look()
		wrote.end()
		for second := 1; len(*fatal) == 0 && second < 60; second++ {
			if _, age := v.pending.longest(); age != time.Duration(second)*time.Second {
				t.Fatalf("pending for %s in second %d", age, second)
			}
			time.Sleep(lookEvery)
			dog.look()
		}
		if len(*fatal) != 1 || !strings.Contains((*fatal)[0].Error(), "sync hangs is not done after 10s") {
			t.Errorf("fatal: %v", *fatal)
		}
	})
}

// TestTransact: row 60. A transaction is repeated for want of space, not after a
// failed fsync.
func TestTransact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, _, _ := open(t, &disk{free: 100 * mib, total: 1000 * mib})
		calls := 0
		err := v.Transact("write", "meta", func() error {
			if calls++; calls < 8 {
				return &fs.PathError{Op: "write", Path: "meta", Err: syscall.ENOSPC}
			}
			return nil
		})
		if err != nil || calls != 8 || v.Level() != Critical {
			t.Errorf("%d calls, %v, %s", calls, err, v.Level())
		}
		for _, failed := range []error{syscall.ENOSPC, &fs.PathError{Err: syscall.EIO}} {
			calls = 0
			err := v.Transact("write", "meta", func() error { calls++; return failed })
			if calls != 1 || !errors.Is(err, failed) {
				t.Errorf("%v: %d calls, %v", failed, calls, err)
			}
		}
	})
}
