package corona_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona"
	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/originaudit"
)

// A behaviour is what an origin does, and what a reader has to make of it. Each has
// two hosts of its own, on which every request is judged.
type behaviour struct {
	// name begins with the code or the row that docs/politeness.md names it by.
	name string
	// play sets up the hosts and returns the URLs to subscribe to.
	play func(stage) []string
	// enough says whether the log of the first URL shows what is to be shown. nil:
	// three answers of each.
	enough func(originaudit.Log) bool
	// want says what is wrong in the end beyond what every request is judged by. nil:
	// nothing can be.
	want func(*rig, []string) error
	// may is what is no violation here. "": everything is.
	may originaudit.Kind
}

// stage is where a behaviour plays.
type stage struct {
	*originaudit.Origin
	host int // the first of two
}

// doc plays a document on the first host.
func (s stage) doc(target string, doc *originaudit.Document) string {
	return s.Play(s.host, target, doc.Answer)
}

// rig is a node that polls what behaviours play, and the judge of it.
type rig struct {
	config corona.Config
	node   *corona.Node
	origin *originaudit.Origin
	policy originaudit.Policy
	urls   [][]string // by behaviour
	began  time.Time
}

// The pace of the rig. An interval must be long beside what a loaded machine may
// add to the time between two requests.
const (
	rigInterval = 3 * time.Second
	rigFloor    = 2 * time.Second // below the interval, else polls stay as close together as the first ones came
	rigSlack    = time.Second
	rigPatience = time.Minute
	rigSettle   = time.Second // from an answer to its commit, on a loaded machine
	rigContact  = "https://example.org/about"
)

// newRig opens an origin and a node, and subscribes to everything.
func newRig(t *testing.T, behaviours []behaviour) *rig {
	t.Helper()
	origin, err := originaudit.Listen(t.Context(), 2*len(behaviours), 0)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{origin: origin, began: time.Now(), config: corona.Config{
		Data: t.TempDir(), Interval: rigInterval, Floor: rigFloor, Ranges: 4,
		AllowPrivate: true, Contact: rigContact, Version: "1.2.3",
	}}
	r.policy = originaudit.Policy{
		Interval: rigInterval, Floor: rigFloor, Parallel: 2, Contact: rigContact, Published: origin.Published, Slack: rigSlack,
	}
	r.open(t)
	for i, b := range behaviours {
		r.urls = append(r.urls, b.play(stage{origin, 2 * i}))
		for _, url := range r.urls[i] {
			subscribe(t, r.node, url, "")
		}
	}
	return r
}

// close stops the node, and then the origin: a node that stops must not take its
// origin's end for a failure.
func (r *rig) close(t *testing.T) {
	t.Helper()
	closeNode(t, r.node)
	_ = r.origin.Close() // whoever reads there has nothing to lose
}

func (r *rig) open(t *testing.T) {
	t.Helper()
	node, err := corona.Open(t.Context(), r.config)
	if err != nil {
		t.Fatal(err)
	}
	r.node = node
	r.policy.Starts = append(r.policy.Starts, time.Now())
}

// restart stops the node in order and opens it again. Polls under way are given
// up, with what they had found already: to the judge the stop is a kill.
func (r *rig) restart(t *testing.T) {
	t.Helper()
	r.policy.Kills, r.policy.Settle = append(r.policy.Kills, time.Now()), rigSettle
	closeNode(t, r.node)
	r.open(t)
}

// plays reports whether a URL is on the hosts of a behaviour.
func (r *rig) plays(number int, url string) bool {
	return strings.HasPrefix(url, r.origin.URL(2*number, "/")) || strings.HasPrefix(url, r.origin.URL(2*number+1, "/"))
}

// of returns what was asked of a behaviour's hosts.
func (r *rig) of(log originaudit.Log, number int) originaudit.Log {
	return slices.DeleteFunc(slices.Clone(log), func(e originaudit.Exchange) bool { return !r.plays(number, e.URL()) })
}

// await waits until all behaviours have shown enough, and returns the numbers of
// those that have not when patience ends.
func (r *rig) await(t *testing.T, behaviours []behaviour, patience time.Duration) (missing []int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		log := r.origin.Log()
		missing = missing[:0]
		for i, b := range behaviours {
			if !b.shown(r.of(log, i), r.urls[i]) {
				missing = append(missing, i)
			}
		}
		if len(missing) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return missing
		case <-ticker.C:
		}
	}
}

func (b *behaviour) shown(log originaudit.Log, urls []string) bool {
	if b.enough != nil {
		return b.enough(log.Of(urls[0]))
	}
	return !slices.ContainsFunc(urls, func(url string) bool { return len(log.Of(url).Answered()) < 3 })
}

// channel returns what the node knows of a URL.
func (r *rig) channel(url string) (*api.Channel, error) {
	return r.node.Channel(context.Background(), channel.IDOf(url))
}

// version wants a channel to have a version.
func version(want uint64) func(*rig, []string) error {
	return func(r *rig, urls []string) error {
		for _, url := range urls {
			ch, err := r.channel(url)
			if err != nil {
				return err
			}
			if ch.Version != want {
				return fmt.Errorf("%s has version %d, want %d: %+v", url, ch.Version, want, ch)
			}
		}
		return nil
	}
}
