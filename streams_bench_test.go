//go:build unix

package corona

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership"
)

// BenchmarkComeback asks how long 200 streams of 500 subscriptions each, which come back to a node
// at once with a cursor, take until each has all updates that it missed: of every hundredth channel,
// or one of each. The node is alone, or one of three in this process. An operation is one such
// return:
//
//	go test -run '^$' -bench Comeback -benchtime 3x .
//
// The figures: s, from when the first begins to open until the last has all; cpu-s, of the process
// meanwhile.
func BenchmarkComeback(b *testing.B) {
	for _, names := range [][]string{{"n1"}, {"n1", "n2", "n3"}} {
		for _, every := range []int{100, 1} {
			b.Run(fmt.Sprintf("nodes=%d/every=%d", len(names), every), func(b *testing.B) { comeback(b, names, every) })
		}
	}
}

const (
	comebackStreams  = 200
	comebackFilter   = 500  // subscriptions of a stream
	comebackChannels = 1000 // one after the other is of a stream
	comebackVersions = 8    // of each channel, before the cursor
)

func comeback(b *testing.B, names []string, every int) {
	r := &updatesRig{b: b, origin: newGrowingFeeds(b)}
	r.origin.still.Store(true)
	config := Config{AllowPrivate: true, Ranges: 16}
	if len(names) > 1 {
		r.nodes = openSecured(b, config, names...)
	} else {
		config.Data, config.Name, config.Fatal = b.TempDir(), names[0], func(err error) { panic(err) }
		node, err := Open(b.Context(), config)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = node.Close() })
		r.nodes = []*Node{node}
	}
	var requests []api.SubscribeRequest
	var ids []channel.ID
	for i := range comebackChannels {
		ids = append(ids, channel.IDOf(r.origin.url(i)))
		requests = append(requests, api.SubscribeRequest{URL: r.origin.url(i), Sink: api.Sink{Type: api.SinkSSE}})
	}
	var subs []string
	for _, made := range r.nodes[0].Subscribe(b.Context(), requests) {
		if made.Err != nil {
			b.Fatal(made.Err)
		}
		subs = append(subs, made.Subscription.ID)
	}
	r.await("contents", func() bool { return r.all(ids, 1) })
	updates := sampleUpdates(b)
	r.give(ids, updates, comebackVersions)
	all, err := r.nodes[0].Stream(b.Context(), api.StreamFilter{}, "")
	if err != nil {
		b.Fatal(err)
	}
	r.give(ids[:1], updates, 1)
	last, err := all.Next(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	all.Close()
	var missed []channel.ID
	for i := 0; i < len(ids); i += every {
		missed = append(missed, ids[i])
	}
	r.give(missed, updates, 1)
	time.Sleep(time.Second) // until all ranges are closed up to there
	b.ResetTimer()
	begun, busy := time.Now(), processor(b)
	for range b.N {
		var coming sync.WaitGroup
		for i := range comebackStreams {
			first := i % (comebackChannels - comebackFilter)
			coming.Go(func() {
				n := (first+comebackFilter+every-1)/every - (first+every-1)/every
				if err := r.comeBack(subs[first:first+comebackFilter], last.ID, n); err != nil {
					b.Error(err)
				}
			})
		}
		coming.Wait()
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(time.Since(begun).Seconds()/float64(b.N), "s")
	b.ReportMetric((processor(b)-busy).Seconds()/float64(b.N), "cpu-s")
}

// give commits versions to channels.
func (r *updatesRig) give(ids []channel.ID, updates []ownership.Commit, versions int) {
	const parts = 64
	var giving sync.WaitGroup
	for part := range parts {
		giving.Go(func() {
			for i := part; i < len(ids); i += parts {
				var known channel.Channel
				for v := range versions {
					made, err := r.commit(known, ids[i], time.Now(), updates[(i+v)%len(updates)])
					if err != nil {
						r.b.Error(err)
						return
					}
					known = made
				}
			}
		})
	}
	giving.Wait()
}

// comeBack opens a stream at the first node, again when that is busy, and reads a number of updates.
func (r *updatesRig) comeBack(subs []string, cursor string, updates int) error {
	for {
		s, err := r.nodes[0].Stream(r.b.Context(), api.StreamFilter{Subscriptions: subs}, cursor)
		if busy := (*api.Problem)(nil); errors.As(err, &busy) && busy.Retryable {
			continue
		}
		if err != nil {
			return err
		}
		defer s.Close()
		for range updates {
			e, err := s.Next(r.b.Context())
			if err != nil {
				return err
			}
			if e.Type != api.StreamUpdate {
				return fmt.Errorf("event %s: %s", e.Type, e.Data)
			}
		}
		return nil
	}
}
