//go:build linux

package arrival

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Log is when which address asked for which path. It is safe for concurrent use.
type Log struct {
	began time.Time
	mu    struct {
		sync.Mutex
		polls map[string][]poll // by path
		count int
	}
}

type poll struct {
	address string
	at      time.Duration // since the log began
}

// NewLog returns an empty log, whose times count from began.
func NewLog(began time.Time) *Log {
	l := &Log{began: began.Round(0)} // the kernel tells wall time
	l.mu.polls = make(map[string][]poll)
	return l
}

// Around notes the polls of an origin, which is served on a [Listener].
func (l *Log) Around(origin http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.Note(r)
		origin.ServeHTTP(w, r)
	})
}

// Note notes a poll, and returns the address that made it and when it arrived.
func (l *Log) Note(r *http.Request) (address string, at time.Duration) {
	address, _, _ = net.SplitHostPort(r.RemoteAddr)
	at = Of(r.Context()).Sub(l.began)
	l.note(r.URL.Path, poll{address: address, at: at})
	return address, at
}

// Add notes a poll of a path by an address at an instant of wall time.
func (l *Log) Add(address, path string, at time.Time) {
	l.note(path, poll{address: address, at: at.Round(0).Sub(l.began)})
}

func (l *Log) note(path string, made poll) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.count++
	l.mu.polls[path] = append(l.mu.polls[path], made)
}

// Count returns how many polls were noted.
func (l *Log) Count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.count
}

// Error is how much later one request may be noted than the next: the kernel notes when it
// receives them, whatever this process waits for.
const Error = 10 * time.Millisecond

// Early returns a line for each poll that comes under the floor after the one before it of
// the same path by the same address, and how close two of these came.
func (l *Log) Early(floor time.Duration) (lines []string, closest time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	closest = time.Hour
	for path, polls := range l.mu.polls {
		slices.SortFunc(polls, func(a, b poll) int { return cmp.Or(cmp.Compare(a.address, b.address), cmp.Compare(a.at, b.at)) })
		for i := 1; i < len(polls); i++ {
			before, made := polls[i-1], polls[i]
			if before.address != made.address {
				continue
			}
			apart := made.at - before.at
			closest = min(closest, apart)
			if apart < floor-Error {
				lines = append(lines, fmt.Sprintf("%s asked for %s at %s, %s after it had", made.address, path, made.at, apart))
			}
		}
	}
	slices.Sort(lines)
	return lines, closest
}
