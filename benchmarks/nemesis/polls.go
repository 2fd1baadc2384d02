//go:build linux

package main

import (
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
		polls map[string][]poll // by path, in order
		count int
	}
}

type poll struct {
	address string
	at      witness.Instant
	tag     string // that it knew, or its date
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
		tag := r.Header.Get("If-None-Match") + r.Header.Get("If-Modified-Since")
		p.note(r.URL.Path, poll{address: host, at: time.Since(p.began), tag: tag})
		origin.ServeHTTP(w, r)
	})
}

func (p *pollLog) note(path string, made poll) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.count++
	p.mu.polls[path] = append(p.mu.polls[path], made)
}

// around an early poll, so many before it are shown.
const pollsShown = 6

// early returns a line for each poll that came sooner after the last one of the same
// address than half the floor, with those before it. Half of it: on a loaded machine a
// request may wait before it is seen here, so that the next one seems to follow sooner.
func (p *pollLog) early() (lines []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for path, polls := range p.mu.polls {
		last := make(map[string]witness.Instant)
		for i, made := range polls {
			before, again := last[made.address]
			last[made.address] = made.at
			if !again || made.at-before >= pollFloor/2 {
				continue
			}
			line := fmt.Sprintf("%s asked for %s %s after the last time; polls:", made.address, path, (made.at - before).Round(time.Millisecond))
			for _, shown := range polls[max(0, i-pollsShown) : i+1] {
				line += fmt.Sprintf(" %s %s %s;", shown.at.Round(time.Millisecond), shown.address, shown.tag)
			}
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}
