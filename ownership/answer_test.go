package ownership

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// stuck is a store whose only range has no leader, or one that takes commands and never
// answers, as one that finds no majority.
func stuck(leads bool, machine *state.Machine) *Store {
	clock := &clock{now: time.Now}
	g := &group{state: machine, clock: clock, queue: newQueue(clock), raft: new(raft.Raft)}
	rt := &router{tools: tools{metrics: newMetrics(nil)}}
	rt.version.Store(newestVersion)
	rt.open.Store(&[]*group{g})
	s := &Store{router: rt, writes: newWrites(rt, nil, nil)}
	g.serving.Store(leads)
	if err := rt.setRoutes(&wire.Meta{Ranges: []*wire.Range{{To: channel.Buckets - 1}}}); err != nil {
		panic(err)
	}
	rt.of(0).own.Store(g)
	return s
}

// Row 42: a range without a majority is an ErrUnavailable early enough for its
// 503 to be with the client within 5 s.
func TestRow42RangeWithoutMajority(t *testing.T) {
	id := channel.IDOf("http://example.com/")
	subscribe := func(ctx context.Context, s *Store, w NewSubscription) error {
		return s.Subscribe(ctx, []NewSubscription{w})[0].Err
	}
	calls := map[string]func(context.Context, *Store) error{
		"subscribe": func(ctx context.Context, s *Store) error {
			return subscribe(ctx, s, wish("http://example.com/", "", stream))
		},
		"subscribe with key": func(ctx context.Context, s *Store) error {
			return subscribe(ctx, s, wish("http://example.com/", "key", stream))
		},
		"unsubscribe": func(ctx context.Context, s *Store) error {
			return s.Unsubscribe(ctx, state.SubscriptionID(id.Bucket(), 1))
		},
		"end channel": func(ctx context.Context, s *Store) error { return s.EndChannel(ctx, id, 1) },
		"set endpoint": func(ctx context.Context, s *Store) error {
			return s.SetEndpoint(ctx, channel.Endpoint{URL: "http://h.example/"}, channel.Endpoint{URL: "http://h.example/"})
		},
	}
	machine := newMachine(t).state // which no bubble has
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, leads := range []bool{false, true} {
					s := stuck(leads, machine)
					begun := time.Now()
					err := call(t.Context(), s)
					if took := time.Since(begun); !errors.Is(err, ErrUnavailable) || took > 4500*time.Millisecond {
						t.Errorf("leads %v: %v after %s", leads, err, took)
					}
				}
			})
		})
	}
}
