package webhook

import (
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// What an endpoint asks for in Retry-After it gets: nothing comes sooner, not even
// when a request that was under way is taken after all; then everything does.
func TestRetryAfterIsHonoured(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		id := n.store.AddChannel("http://origin.example/")
		var subs []channel.Subscription
		for range 20 {
			subs = append(subs, n.store.Subscribe(id, sinkA, ""))
		}
		var asked []time.Time
		takes := answer{delay: 100 * time.Millisecond} // so that the refusal is the first answer
		answers := []answer{{delay: 900 * time.Millisecond}, {status: http.StatusTooManyRequests, after: "600"}}
		n.deliverer.dispatcher.caller.transport = roundTripper(func(request *http.Request) (*http.Response, error) {
			next := takes
			n.sinks.locked(func() {
				if len(answers) > 0 {
					next, answers = answers[0], answers[1:]
				}
				asked = append(asked, time.Now())
			})
			return n.sinks.respond(request, sinkA, next)
		})
		began := time.Now()
		n.store.Commit(id)
		elapse(time.Hour)
		early := 0
		n.sinks.locked(func() {
			for _, at := range asked {
				if wait := at.Sub(began); wait > 0 && wait < 10*time.Minute {
					t.Errorf("asked %s after a Retry-After of 10 minutes", wait)
				} else if wait == 0 {
					early++
				}
			}
		})
		if early > 8 {
			t.Errorf("%d requests at once, want at most 8", early)
		}
		for _, sub := range subs {
			n.expectVersions(t, sub, 2)
		}
		if late := n.lateness(t, subs[19], began); late > 11*time.Minute {
			t.Errorf("the last came after %s", late)
		}
	})
}

// What a restart leaves of a wait: all of it.
func TestRetryAfterSurvivesRestart(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		id := n.store.AddChannel("http://origin.example/")
		sub := n.store.Subscribe(id, sinkA, "")
		n.sinks.set(sinkA, answer{status: http.StatusServiceUnavailable, after: "7200"})
		began := time.Now()
		n.store.Commit(id)
		elapse(time.Second)
		n.sinks.set(sinkA, answer{})
		n.stop()
		n.start()
		elapse(3 * time.Hour)
		n.expectVersions(t, sub, 2)
		if late := n.lateness(t, sub, began); late < 2*time.Hour || late > 2*time.Hour+time.Minute {
			t.Errorf("came after %s, want 2 hours", late)
		}
	})
}

// The log says whose delivery failed, and when it goes on, if it does.
func TestFailuresAreLogged(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		var text lockedBuffer
		n.deliverer.core.log = slog.New(slog.NewTextHandler(&text, nil))
		id := n.store.AddChannel("http://origin.example/")
		fails := n.store.Subscribe(id, "http://a.example/secret-path", "")
		gone := n.store.Subscribe(id, "http://b.example/secret-path", "")
		n.sinks.set(fails.Sink.URL, answer{status: http.StatusInternalServerError})
		n.sinks.set(gone.Sink.URL, answer{status: http.StatusGone})
		n.store.Commit(id)
		elapse(time.Hour)
		lines := strings.Split(strings.TrimSpace(text.String()), "\n")
		if len(lines) != 2 || strings.Contains(text.String(), "secret-path") {
			t.Fatalf("logged %q", lines)
		}
		for _, line := range lines {
			ofFailing := strings.Contains(line, "subscription="+fails.ID) && strings.Contains(line, "host=a.example") && strings.Contains(line, "next_attempt=2000-")
			ofGone := strings.Contains(line, "subscription="+gone.ID) && strings.Contains(line, "state=disabled") && !strings.Contains(line, "next_attempt")
			if !ofFailing && !ofGone {
				t.Errorf("logged %q", line)
			}
		}
	})
}

type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
