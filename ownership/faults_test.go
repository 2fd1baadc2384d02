package ownership

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/testcluster/memnet"
)

var (
	faultSeed = flag.Uint64("fault-seed", 1, "seed of TestFaults")
	faultRuns = flag.Int("fault-runs", 1, "seeds of TestFaults, from -fault-seed on")
	faultTime = flag.Duration("fault-time", 8*time.Second, "how long TestFaults makes faults, for each seed")
)

// TestFaults: under faults of the network, losses of power and clocks that differ, what
// was acknowledged is kept, what was deleted stays so, no ID is given twice, and in the
// end all replicas have the same state.
//
//	go test ./ownership -run TestFaults -fault-seed 7 -fault-runs 20 -fault-time 30s
func TestFaults(t *testing.T) {
	t.Parallel()
	for i := range *faultRuns {
		seed := *faultSeed + uint64(i)
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := newTown(t, 3, seed)
			random := rand.New(rand.NewPCG(seed, 0))
			for _, n := range w.nodes {
				n.skew.Store(random.Int64N(int64(3*time.Second)) - int64(1500*time.Millisecond))
			}
			all := &ledger{deleted: make(map[string]bool), live: make(map[string]bool)}
			ctx, stop := context.WithTimeout(context.Background(), *faultTime)
			defer stop()
			var clients sync.WaitGroup
			for c := range 6 {
				clients.Go(func() { w.client(ctx, c, rand.New(rand.NewPCG(seed, uint64(c)+1)), all) })
			}
			w.faults(ctx, random)
			clients.Wait()
			w.net.HealAll()
			w.settle(all)
		})
	}
}

// faults makes one fault after the other until ctx ends.
func (w *town) faults(ctx context.Context, random *rand.Rand) {
	var names []string
	for _, n := range w.nodes {
		names = append(names, n.name)
	}
	for ctx.Err() == nil {
		lasts := time.Duration(200+random.IntN(2500)) * time.Millisecond
		if random.IntN(4) == 0 {
			n := w.nodes[random.IntN(len(w.nodes))]
			w.t.Logf("%s loses power", n.name)
			w.using.Lock()
			w.losePower(n)
			w.open(n)
			w.using.Unlock()
			continue
		}
		fault := memnet.Draw(random, names)
		w.t.Logf("%s for %s", fault, lasts)
		fault.Begin(w.net)
		select {
		case <-time.After(lasts):
		case <-ctx.Done():
		}
		fault.End(w.net)
	}
}

// ledger is what clients were told.
type ledger struct {
	mu      sync.Mutex
	live    map[string]bool // subscriptions that were acknowledged, and whose end was not asked for
	deleted map[string]bool // whose end was acknowledged
	acks    int
	twice   []string
}

func (l *ledger) made(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.live[id] || l.deleted[id] {
		l.twice = append(l.twice, id)
	}
	l.live[id] = true
	l.acks++
}

func (l *ledger) ended(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deleted[id] = true
	l.acks++
}

// take lets one client alone have a subscription from now on.
func (l *ledger) take(random *rand.Rand) (id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := random.IntN(len(l.live) + 1)
	for id = range l.live {
		if n--; n < 0 {
			delete(l.live, id)
			return id
		}
	}
	return ""
}

// client subscribes and unsubscribes at nodes by chance until ctx ends. What fails is
// unknown, and counts for nothing.
func (w *town) client(ctx context.Context, c int, random *rand.Rand, all *ledger) {
	for i := 0; ctx.Err() == nil; i++ {
		w.using.RLock()
		n := w.nodes[random.IntN(len(w.nodes))].store
		url := fmt.Sprintf("http://example.com/%d", random.IntN(40))
		if random.IntN(4) == 0 {
			if id := all.take(random); id != "" {
				if err := n.Unsubscribe(ctx, id); err == nil {
					all.ended(id)
				} else if errors.Is(err, channel.ErrNotFound) {
					w.t.Errorf("%s was acknowledged and is not known", id)
				}
			}
		} else if r := n.Subscribe(ctx, []NewSubscription{wish(url, fmt.Sprintf("%d of client %d", i, c), stream)})[0]; r.Err == nil {
			all.made(r.ID)
		}
		w.using.RUnlock()
	}
}

// settle waits until the cluster is whole again and compares it with the ledger.
func (w *town) settle(all *ledger) {
	w.t.Helper()
	view := w.nodes[0].store.View()
	there := make(map[string]bool)
	eventually(w.t, "a list of all", func() error {
		clear(there)
		for q := (SubscriptionQuery{Limit: 1000}); ; {
			page, next, err := view.Subscriptions(context.Background(), q)
			if err != nil {
				return err
			}
			for _, s := range page {
				there[s.ID] = true
			}
			if next == "" {
				return nil
			}
			q.After = next
		}
	})
	for id := range all.live {
		if !there[id] {
			w.t.Errorf("%s was acknowledged and is lost", id)
		}
	}
	for id := range all.deleted {
		if there[id] {
			w.t.Errorf("%s was deleted and is back", id)
		}
	}
	if len(all.twice) > 0 {
		w.t.Errorf("given twice: %v", all.twice)
	}
	if all.acks == 0 {
		w.t.Error("nothing was acknowledged")
	}
	w.t.Logf("%d acknowledgements, %d subscriptions", all.acks, len(there))
	w.agree()
}
