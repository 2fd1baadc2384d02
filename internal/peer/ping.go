package peer

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"time"
)

// Health is how a peer was found by pings on the control lane.
type Health struct {
	Heard       time.Time     // when it answered last, zero: never
	Missed      int           // pings in a row without an answer
	RTT         time.Duration // the shortest of the last eight round trips, 0: none
	ClockOffset time.Duration // its wall clock less ours, by the ping with that round trip; within RTT/2
}

const (
	pingEvery  = time.Second
	pingWithin = 500 * time.Millisecond
	// mostMissed pings in a row that are not answered end the connections: those of
	// which one side is dead would be waited for until TCP gives up.
	mostMissed = 3
	samples    = 8
)

var errSilent = errors.New("pings are not answered")

// healthLog remembers the last pings of a peer.
type healthLog struct {
	mu struct {
		sync.Mutex
		heard  time.Time
		missed int
		last   []sample // newest last
	}
}

type sample struct{ rtt, offset time.Duration }

// watch pings the peer until it is removed.
func (r *remote) watch() {
	ticker := time.NewTicker(pingEvery)
	defer ticker.Stop()
	for {
		r.ping()
		select {
		case <-r.ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// ping measures the round trip and the offset of the other's clock as NTP does
// (RFC 5905, section 8): from when the ping left, arrived, was answered, came back.
func (r *remote) ping() {
	ctx, cancel := context.WithTimeout(r.ctx, pingWithin)
	defer cancel()
	c, err := r.caller(ctx, Control)
	if err == nil {
		var s sample
		if s, err = r.exchange(ctx, c); err == nil {
			r.sick.heardNow(s)
			return
		}
	}
	if r.ctx.Err() != nil {
		return
	}
	r.node.metrics.missed.Inc()
	if r.sick.missedOne()%mostMissed == 0 {
		r.drop(errSilent)
	}
}

func (r *remote) exchange(ctx context.Context, c *caller) (sample, error) {
	now := r.node.config.Now
	began, left := time.Now(), now()
	answer, err := c.call(ctx, kindPing, 0, nil)
	if err != nil {
		return sample{}, err
	}
	rtt, back := time.Since(began), now()
	if len(answer) != 8 {
		return sample{}, errors.New("ping is answered by something else")
	}
	there := time.UnixMicro(int64(binary.BigEndian.Uint64(answer)))
	return sample{rtt: rtt, offset: there.Sub(left.Add(back.Sub(left) / 2))}, nil
}

func (n *Node) answerPing(context.Context, Call) ([]byte, error) {
	return binary.BigEndian.AppendUint64(nil, uint64(n.config.Now().UnixMicro())), nil
}

func (h *healthLog) heardNow(s sample) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.heard, h.mu.missed = time.Now(), 0
	if len(h.mu.last) == samples {
		h.mu.last = slices.Delete(h.mu.last, 0, 1)
	}
	h.mu.last = append(h.mu.last, s)
}

func (h *healthLog) missedOne() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.missed++
	return h.mu.missed
}

func (r *remote) health() Health {
	h := &r.sick
	h.mu.Lock()
	defer h.mu.Unlock()
	found := Health{Heard: h.mu.heard, Missed: h.mu.missed}
	for _, s := range h.mu.last {
		if found.RTT == 0 || s.rtt < found.RTT {
			found.RTT, found.ClockOffset = s.rtt, s.offset
		}
	}
	return found
}
