package volume

import (
	"fmt"
	"sync"
	"time"
)

const (
	// slowAfter is when a write or fsync that is not done is counted and logged.
	slowAfter = time.Second
	// hungAfter is when the process ends: what hangs for so long has no bound.
	hungAfter = 10 * time.Second
)

// op is a place where one thing after the other is written: a file that is open, or
// a change of a directory.
type op struct {
	path string

	mu     sync.Mutex // guards the rest
	doing  string
	count  int       // under way
	since  time.Time // that nothing has ended; of no meaning while count is 0
	warned bool      // it has been said that this one is slow
}

// begin and end bracket a system call. Of several at a time on one file, each that
// ends shows that the disk answers: only what came after it counts as pending.
func (o *op) begin(doing string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.count++; o.count == 1 {
		o.doing, o.since = doing, time.Now()
	}
}

func (o *op) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.count--
	o.since, o.warned = time.Now(), false
}

// age returns how long the op has been pending, 0 when it is not, and what it does.
func (o *op) age() (age time.Duration, doing string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.count == 0 {
		return 0, ""
	}
	return time.Since(o.since), o.doing
}

// turnsSlow reports, once, that the op is slow.
func (o *op) turnsSlow() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.count == 0 || o.warned || time.Since(o.since) < slowAfter {
		return false
	}
	o.warned = true
	return true
}

// pending is the set of ops that the watchdog looks at.
type pending struct {
	mu  sync.Mutex
	ops map[*op]struct{} // guarded by mu
}

func (p *pending) add(path string) *op {
	o := &op{path: path}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ops == nil {
		p.ops = make(map[*op]struct{})
	}
	p.ops[o] = struct{}{}
	return o
}

func (p *pending) drop(o *op) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.ops, o)
}

// each calls visit with every op.
func (p *pending) each(visit func(*op)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for o := range p.ops {
		visit(o)
	}
}

// longest returns the op that has been pending for the longest time, nil for none.
func (p *pending) longest() (longest *op, age time.Duration) {
	p.each(func(o *op) {
		if a, _ := o.age(); a > age {
			longest, age = o, a
		}
	})
	return longest, age
}

// say logs and counts what is slow.
func (v *Volume) say() {
	var slow []*op
	v.pending.each(func(o *op) {
		if o.turnsSlow() {
			slow = append(slow, o)
		}
	})
	for _, o := range slow {
		v.metrics.slow.Inc()
		age, doing := o.age()
		v.config.Logger.Warn("disk is slow", "doing", doing, "path", o.path, "pending", age)
	}
}

// forgive takes off time in which the process did not run.
func (o *op) forgive(stopped time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since = o.since.Add(stopped); o.since.After(time.Now()) {
		o.since = time.Now()
	}
}

// watchdog ends the process when something hangs. It does nothing that may hang too,
// such as to log.
type watchdog struct {
	v    *Volume
	last time.Time // it looked
}

// look is called once every lookEvery. If it comes much later, the process was
// stopped (a signal, a debugger, a machine that slept), and what was pending could
// not end either: the disk is not to blame.
func (w *watchdog) look() {
	now := time.Now()
	if late := now.Sub(w.last) - lookEvery; late > lookEvery {
		w.v.pending.each(func(o *op) { o.forgive(late) })
	}
	w.last = now
	o, age := w.v.pending.longest()
	if age < hungAfter {
		return
	}
	_, doing := o.age()
	w.v.fail(fmt.Errorf("disk hangs: %s %s is not done after %s", doing, o.path, age.Round(time.Millisecond)))
}
