// Package volume looks after the file system that a data directory is on: how much
// room it has, how long its writes take, and what happens when one fails.
//
// All stores of a node write through one [Volume]. A write that finds no space
// waits, or fails where that is better, and is never lost; a failed fsync, or a
// write that the disk refuses, ends the process; so does a disk that hangs.
// DESIGN.md has the table.
package volume

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Config is what [Open] needs.
type Config struct {
	// Dir is the data directory. It must be there. Required.
	Dir string
	// Reserve is how many bytes of the file system are kept for what frees space and
	// for what must not fail; at least LeastReserve. 0: [DefaultReserve].
	Reserve uint64
	// Fatal is told, once, that the disk failed or hangs: what it holds is not known.
	// It should end the process, without waiting for anything. Default: panic.
	Fatal func(error)
	// Logger may be nil.
	Logger *slog.Logger
	// Registerer takes the metrics; nil for none.
	Registerer prometheus.Registerer

	// Usage returns the bytes that are free and those of all of the file system.
	// Default: statfs.
	Usage func(dir string) (free, total uint64, err error)
}

var (
	// ErrFull says that a node cannot start for lack of space. Nothing was touched.
	ErrFull = errors.New("not enough space")
	// ErrReserve says that the reserve is none for this file system.
	ErrReserve = errors.New("disk reserve")
)

// Volume is a file system with a node's data. Its methods may be called from any
// goroutine. A nil *Volume is always OK, and passes everything through.
type Volume struct {
	config  Config
	reserve uint64
	fail    func(error)
	metrics *metrics

	level   atomic.Int32
	free    atomic.Uint64 // bytes, when it was last looked
	ballast ballast
	pending pending
	waiting atomic.Int64 // writes that wait for space
	protect atomic.Bool  // the stores hold something: the ballast is worth its space

	gaveUp   chan struct{} // closed when writers are to stop waiting
	giveUp   sync.Once
	fullTill atomic.Pointer[time.Time] // critical until then, whatever statfs says; nil: never was
}

// Open looks at the file system, and writes nothing. Its error wraps [ErrFull] or
// [ErrReserve] when the node had better not start. [Volume.Run] watches from then on.
func Open(config Config) (*Volume, error) {
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Fatal == nil {
		config.Fatal = func(err error) { panic(err) }
	}
	if config.Usage == nil {
		config.Usage = statfs
	}
	free, total, err := config.Usage(config.Dir)
	if err != nil {
		return nil, fmt.Errorf("size of the file system of %s: %w", config.Dir, err)
	}
	if config.Reserve == 0 {
		config.Reserve = DefaultReserve(total)
	}
	v := &Volume{config: config, reserve: config.Reserve, gaveUp: make(chan struct{})}
	v.fail = onceOnly(config.Fatal)
	v.ballast.open(filepath.Join(config.Dir, ballastFile), ballastOf(config.Reserve))
	if err := v.check(free, total); err != nil {
		return nil, err
	}
	v.metrics = newMetrics(v)
	v.look(time.Now())
	return v, v.metrics.register(config.Registerer)
}

// onceOnly blocks all failing goroutines but the first, which ends the process.
func onceOnly(fatal func(error)) func(error) {
	var once sync.Once
	return func(err error) { once.Do(func() { fatal(err) }) }
}

// check refuses what a node could not work with.
func (v *Volume) check(free, total uint64) error {
	switch {
	case v.reserve < LeastReserve || v.reserve > total/2:
		return fmt.Errorf("%w of %d bytes: want %d at least, and at most half of the file system of %s, which has %d",
			ErrReserve, v.reserve, LeastReserve, v.config.Dir, total)
	case free+v.ballast.held() < neededToStart(v.reserve):
		return fmt.Errorf("%w: %s has %d bytes free, a node needs %d to start: delete or move something; nothing was touched",
			ErrFull, v.config.Dir, free, neededToStart(v.reserve))
	}
	return nil
}

// Protect says that the stores hold what must not be lost: the ballast is put there
// by the next look of [Volume.Run], not by the caller.
func (v *Volume) Protect() {
	if v != nil && !v.protect.Load() {
		v.protect.Store(true)
	}
}

// Level says how much room there is.
func (v *Volume) Level() Level {
	if v == nil {
		return OK
	}
	return Level(v.level.Load())
}

// Status is what there is to say of a volume, in bytes.
type Status struct {
	Level                  Level
	Free, Reserve, Ballast uint64
}

// Status returns what was found when it was last looked.
func (v *Volume) Status() Status {
	return Status{Level: v.Level(), Free: v.free.Load(), Reserve: v.reserve, Ballast: v.ballast.held()}
}

// lookEvery is the time between two looks at the free space, and at what is
// pending.
const lookEvery = time.Second

// Run watches until the context ends. Two loops, since a disk that hangs may hang
// the question how much of it is free.
func (v *Volume) Run(ctx context.Context) {
	var space sync.WaitGroup
	space.Go(func() {
		every(ctx, func() {
			v.say()
			v.look(time.Now())
		})
	})
	ended, end := context.WithCancel(context.Background())
	dog := watchdog{v, time.Now()}
	var watching sync.WaitGroup
	watching.Go(func() { every(ended, dog.look) })
	space.Wait()
	end()
	watching.Wait()
}

func every(ctx context.Context, do func()) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			do()
		case <-ctx.Done():
			return
		}
	}
}

// GiveUp ends all waits for space: the node stops, and what could not be
// written was not acknowledged.
func (v *Volume) GiveUp() { v.giveUp.Do(func() { close(v.gaveUp) }) }

// GaveUp is closed by GiveUp; nil, and so never, for a nil volume.
func (v *Volume) GaveUp() <-chan struct{} {
	if v == nil {
		return nil
	}
	return v.gaveUp
}

// Close unregisters the metrics. The ballast stays for the next start.
func (v *Volume) Close() {
	v.GiveUp()
	v.metrics.unregister(v.config.Registerer)
}

// measure asks how much is free. When that cannot be told, what was told last holds.
func (v *Volume) measure() (free uint64) {
	err := v.Do("statfs", v.config.Dir, func() (err error) {
		free, _, err = v.config.Usage(v.config.Dir)
		return err
	})
	if err != nil {
		v.config.Logger.Warn("free space cannot be measured", "error", err)
		return v.free.Load()
	}
	v.free.Store(free)
	return free
}

// look measures the room and decides the level.
func (v *Volume) look(now time.Time) {
	free, before := v.measure(), v.Level()
	level := before.next(free+v.ballast.held(), v.reserve)
	if till := v.fullTill.Load(); v.waiting.Load() > 0 || till != nil && now.Before(*till) {
		level = Critical
	}
	v.enter(before, level)
	switch {
	case level == Critical:
		v.release()
	case level == OK && free > v.reserve && v.protect.Load():
		v.keep(now)
	}
}

// enter makes a level the volume's, and says so once.
func (v *Volume) enter(before, level Level) {
	if before == level || !v.level.CompareAndSwap(int32(before), int32(level)) {
		return
	}
	log := v.config.Logger.Warn
	if level == OK {
		log = v.config.Logger.Info
	}
	log("disk "+meaning[level], "dir", v.config.Dir, "level", level.String(),
		"free_bytes", v.free.Load(), "reserve_bytes", v.reserve)
}

var meaning = [...]string{
	OK:       "has room again: everything is accepted",
	Low:      "is nearly full: new subscriptions and first contents are refused",
	Critical: "is full: new subscriptions and new versions are refused",
}

// release gives up the ballast.
func (v *Volume) release() {
	var released uint64
	err := v.Do("delete", v.ballast.path, func() (err error) {
		released, err = v.ballast.release()
		return err
	})
	if v.ballast.complain(err) {
		v.config.Logger.Error("ballast cannot be deleted", "dir", v.config.Dir, "error", err)
	}
	if released > 0 {
		v.config.Logger.Warn("ballast was deleted", "dir", v.config.Dir, "bytes", released)
	}
}

// keep puts the ballast there when it is not.
func (v *Volume) keep(now time.Time) {
	var kept uint64
	err := v.Do("allocate", v.ballast.path, func() (err error) {
		kept, err = v.ballast.keep(now)
		return err
	})
	if v.ballast.complain(err) {
		v.config.Logger.Warn("no ballast: the file system does not allocate it", "dir", v.config.Dir, "error", err)
	}
	if kept > 0 {
		v.config.Logger.Info("ballast was put there", "dir", v.config.Dir, "bytes", kept)
	}
}

// holdFull is how long the level stays critical after a write found no space, since
// quotas and reserved blocks do not show in what statfs calls free. It is a few looks,
// so that levels do not change with each write while a disk is full, and no more:
// until it is over subscriptions are refused that there may be room for.
const holdFull = 5 * time.Second

// full is told of a write that found no space.
func (v *Volume) full(now time.Time) {
	v.metrics.full.Inc()
	v.measure()
	till := now.Add(holdFull) // by the monotonic clock: the other one may be set
	v.fullTill.Store(&till)
	v.enter(v.Level(), Critical)
	v.release()
}

// IsFull reports whether err says that there is no space, or that a quota is used
// up.
func IsFull(err error) bool {
	return isAny(err, fullErrors)
}

func isAny(err error, of []error) bool {
	return slices.ContainsFunc(of, func(one error) bool { return errors.Is(err, one) })
}

// SaidAlready reports that a message tells of lack of space: the volume has said it
// once, where a store would say it with each attempt.
func SaidAlready(args []any) bool {
	for _, arg := range args {
		if err, ok := arg.(error); ok && IsFull(err) {
			return true
		}
	}
	return false
}
