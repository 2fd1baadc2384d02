package run

import (
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/originaudit"
	"github.com/seed-91e7e7c1/corona/loadgen/result"
)

// auditor keeps what the origins were asked, and when the node was killed and started. A nil
// one keeps nothing.
type auditor struct {
	mu struct {
		sync.Mutex
		log           originaudit.Log
		left          int // requests that were not kept
		kills, starts []time.Time
	}
}

// mostAudited bounds the requests that are kept; one takes about 2 KiB.
const mostAudited = 500_000

// hear keeps a request.
func (a *auditor) hear(e originaudit.Exchange) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.mu.log) == mostAudited {
		a.mu.left++
		return
	}
	a.mu.log = append(a.mu.log, e)
}

// restart notes that the node was killed, or begun.
func (a *auditor) restart(killed bool, at time.Time) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if killed {
		a.mu.kills = append(a.mu.kills, at)
	} else {
		a.mu.starts = append(a.mu.starts, at)
	}
}

const (
	// auditSlack is by how much the origin's times may differ from the node's: a machine that
	// takes in thousands of first polls stands still for hundreds of milliseconds at a time.
	auditSlack = time.Second
	// auditSettle is how long before a kill what was answered may be lost to the node.
	auditSettle = 3 * time.Second
	// auditShown is how many violations stand in the result.
	auditShown = 40
)

// audit holds the requests of the run against the rules of a publisher.
func (r *run) audit() {
	a := r.auditor
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	published := make(map[string]bool, len(r.places))
	for _, n := range r.places {
		published[r.origin.URL(int(n))] = true
	}
	found := originaudit.Audit(a.mu.log, originaudit.Policy{
		Interval: r.settings.Interval, Floor: r.settings.Floor, Gap: r.settings.HostGap, Parallel: r.settings.Parallel, Contact: r.settings.Contact,
		Published: func(url string) bool { return published[url] },
		Slack:     auditSlack, Kills: a.mu.kills, Starts: a.mu.starts, Settle: auditSettle,
	})
	out := &result.Audit{Requests: len(a.mu.log), Violations: len(found), Kinds: make(map[string]int)}
	for i, v := range found {
		out.Kinds[string(v.Kind)]++
		if i < auditShown {
			out.First = append(out.First, v.String())
		}
	}
	if a.mu.left > 0 {
		r.note("audit: the last %d requests were not kept", a.mu.left)
	}
	r.result.Audit = out
}
