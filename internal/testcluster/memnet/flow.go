package memnet

import (
	"io"
	"math/rand/v2"
	"sync"
	"syscall"
	"time"
)

const (
	window   = 256 << 10 // bytes that a writer may be ahead of acknowledgements
	mostOnce = 16 << 10  // bytes that travel together
)

// flow is one direction of a connection: what is written at one end and read at the
// other.
type flow struct {
	out, back *link // that of the bytes, and that of their acknowledgements
	random    *rand.Rand

	mu struct {
		sync.Mutex
		chunks  []chunk       // not read, oldest first
		ahead   int           // bytes that are not acknowledged
		unacked int           // those of them that were read while acknowledgements were cut
		err     error         // of a reset
		changed chan struct{} // closed and replaced when anything here has changed
	}
}

// chunk is bytes that arrive together, or the end of the flow.
type chunk struct {
	data    []byte
	end     bool
	arrives time.Time
	held    bool // by a cut
}

func newFlow(out, back *link, random *rand.Rand) *flow {
	f := &flow{out: out, back: back, random: random}
	f.mu.changed = make(chan struct{})
	return f
}

// wake wakes what waits for a change. Locked.
func (f *flow) wake() {
	close(f.mu.changed)
	f.mu.changed = make(chan struct{})
}

// write takes some of p; none while the window is full: then changed is closed when that
// may have changed.
func (f *flow) write(p []byte) (n int, changed <-chan struct{}, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.err != nil {
		return 0, nil, f.mu.err
	}
	n = min(len(p), window-f.mu.ahead, mostOnce)
	if n > 0 {
		f.mu.ahead += n
		f.put(chunk{data: append([]byte(nil), p[:n]...)})
	}
	return n, f.mu.changed, nil
}

// finish ends the flow after what was written.
func (f *flow) finish() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.err == nil {
		f.put(chunk{end: true})
	}
}

// put sends a chunk off. It can be read once those before it were. Locked.
func (f *flow) put(c chunk) {
	c.arrives, c.held = f.out.send(time.Now(), len(c.data), f.random)
	f.mu.chunks = append(f.mu.chunks, c)
	f.wake()
}

// wait is what to wait for: a change, and if due is not zero a time.
type wait struct {
	changed <-chan struct{}
	due     time.Time
}

// read reads what has arrived. Without any it returns what to wait for; [io.EOF] at the
// end.
func (f *flow) read(p []byte) (n int, w wait, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.err != nil {
		return 0, w, f.mu.err
	}
	now := time.Now()
	w.changed = f.mu.changed
	for n < len(p) && len(f.mu.chunks) > 0 {
		first := &f.mu.chunks[0]
		if first.held {
			break
		}
		if first.arrives.After(now) {
			w.due = first.arrives
			break
		}
		if first.end {
			if n == 0 {
				err = io.EOF
			}
			break
		}
		copied := copy(p[n:], first.data)
		n += copied
		if first.data = first.data[copied:]; len(first.data) == 0 {
			f.mu.chunks = f.mu.chunks[1:]
		}
	}
	f.free(n)
	return n, w, err
}

// free acknowledges bytes, at once or when the way back is healed. Locked.
func (f *flow) free(n int) {
	if n == 0 {
		return
	}
	if isCut, _, _ := f.back.state(); isCut {
		f.mu.unacked += n
		return
	}
	f.mu.ahead -= n
	f.wake()
}

// ended says whether the end of the flow has arrived, whatever is unread before it, or
// what to wait for.
func (f *flow) ended() (bool, wait) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := wait{changed: f.mu.changed}
	if len(f.mu.chunks) == 0 || !f.mu.chunks[len(f.mu.chunks)-1].end {
		return false, w
	}
	now := time.Now()
	for _, c := range f.mu.chunks {
		if c.held {
			return false, w
		}
		if c.arrives.After(now) {
			w.due = c.arrives
			return false, w
		}
	}
	return true, w
}

// hold holds back what has not arrived.
func (f *flow) hold() {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	for i := range f.mu.chunks {
		if f.mu.chunks[i].arrives.After(now) {
			f.mu.chunks[i].held = true
		}
	}
	f.wake()
}

// release sends off again what was held back.
func (f *flow) release() {
	_, latency, _ := f.out.state()
	f.mu.Lock()
	defer f.mu.Unlock()
	again := time.Now().Add(latency)
	for i := range f.mu.chunks {
		if c := &f.mu.chunks[i]; c.held {
			c.held = false
			if c.arrives.Before(again) {
				c.arrives = again
			}
		}
	}
	f.wake()
}

// acknowledge acknowledges what was read while the way back was cut.
func (f *flow) acknowledge() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.ahead -= f.mu.unacked
	f.mu.unacked = 0
	f.wake()
}

// reset ends the flow at both ends, and drops what is unread.
func (f *flow) reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.err, f.mu.chunks = syscall.ECONNRESET, nil
	f.wake()
}

// drop drops what is unread, since its reader has gone.
func (f *flow) drop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.mu.chunks {
		f.mu.chunks[i].data = nil
	}
}
