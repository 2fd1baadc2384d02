//go:build linux

package main

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
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
	mu struct {
		sync.Mutex
		last  map[string]time.Time // by address and path
		count int
		early []string // polls that came sooner after the last one than half the floor
	}
}

func newPollLog() *pollLog {
	p := new(pollLog)
	p.mu.last = make(map[string]time.Time)
	return p
}

// around notes the polls of an origin.
func (p *pollLog) around(origin http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.note(r, time.Now())
		origin.ServeHTTP(w, r)
	})
}

// note takes a poll. Half the floor counts as too early: on a loaded machine a request
// may wait before it is seen here, so that the next one seems to follow it sooner.
func (p *pollLog) note(r *http.Request, now time.Time) {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	key := host + " " + r.URL.Path
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.count++
	if last, before := p.mu.last[key]; before && now.Sub(last) < pollFloor/2 {
		p.mu.early = append(p.mu.early, fmt.Sprintf("%s asked for %s at %s, %s after the last time",
			host, r.URL.Path, now.Format(time.RFC3339Nano), now.Sub(last)))
	}
	p.mu.last[key] = now
}
