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
		p.note(r.URL.Path, poll{address: host, at: time.Since(p.began)})
		origin.ServeHTTP(w, r)
	})
}

func (p *pollLog) note(path string, made poll) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.count++
	p.mu.polls[path] = append(p.mu.polls[path], made)
}

// pollsJudged floors lie between the first and the last of as many polls and one more.
const pollsJudged = 8

// early returns a line for each poll that ends a run of polls by one address at twice the
// pace of the floor. A single pair may come sooner: what the node began in time waits on a
// loaded machine, or in a process that is suspended, before it is seen here.
func (p *pollLog) early() (lines []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for path, polls := range p.mu.polls {
		by := make(map[string][]witness.Instant)
		for _, made := range polls {
			by[made.address] = append(by[made.address], made.at)
		}
		for address, times := range by {
			for i := pollsJudged; i < len(times); i++ {
				if took := times[i] - times[i-pollsJudged]; took < pollsJudged*pollFloor/2 {
					lines = append(lines, fmt.Sprintf("%s asked for %s %d times within %s: %v", address, path, pollsJudged+1, took, times[i-pollsJudged:i+1]))
				}
			}
		}
	}
	slices.Sort(lines)
	return lines
}
