//go:build linux

package main

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/witness"
)

// stillPath is where the origin's channels are that never change.
const stillPath = "/still/"

const still = `<?xml version="1.0"?>
<rss version="2.0"><channel><title>Still</title><item><title>The only one</title><guid isPermaLink="false">one</guid></item></channel></rss>
`

// withStill serves the channels that never change beside an origin.
func withStill(origin http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, stillPath) {
			origin.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/rss+xml")
		w.Header().Set("ETag", `"still"`)
		if r.Header.Get("If-None-Match") == `"still"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write([]byte(still)) // a killed node does not read on
	})
}

// pollLog is when which address asked for which channel.
type pollLog struct {
	began time.Time
	mu    struct {
		sync.Mutex
		polls map[string][]poll // by path
		count int
	}
}

type poll struct {
	address string
	at      witness.Instant
}

func newPollLog(r *witness.Recorder) *pollLog {
	p := &pollLog{began: r.Began}
	p.mu.polls = make(map[string][]poll)
	return p
}

// around notes the polls of an origin.
func (p *pollLog) around(origin http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		p.note(r.URL.Path, poll{address: host, at: arrivedOf(r.Context()).Sub(p.began.Round(0))}) // the kernel tells wall time
		origin.ServeHTTP(w, r)
	})
}

func (p *pollLog) note(path string, made poll) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.count++
	p.mu.polls[path] = append(p.mu.polls[path], made)
}

// arrivalError is how much later one request may be noted than the next: the kernel notes
// when it receives them, whatever this process waits for.
const arrivalError = 10 * time.Millisecond

// early returns a line for each poll that comes under the floor after the one before it of
// the same channel by the same node, and how close two of these came. Each node has an
// address of its own.
func (p *pollLog) early() (lines []string, closest time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	closest = time.Hour
	for path, polls := range p.mu.polls {
		slices.SortFunc(polls, func(a, b poll) int { return cmp.Or(cmp.Compare(a.address, b.address), cmp.Compare(a.at, b.at)) })
		for i := 1; i < len(polls); i++ {
			before, made := polls[i-1], polls[i]
			if before.address != made.address {
				continue
			}
			apart := made.at - before.at
			closest = min(closest, apart)
			if apart < pollFloor-arrivalError {
				lines = append(lines, fmt.Sprintf("%s asked for %s at %s, %s after it had", made.address, path, made.at, apart))
			}
		}
	}
	slices.Sort(lines)
	return lines, closest
}
