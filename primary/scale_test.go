package primary

import (
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/honeycomb"
	"github.com/seed-91e7e7c1/corona/honeycomb/local"
)

// Question: what do rates cost for a million channels: memory, the time of a solve of
// all and of a hundred that changed, columns and orders included, and the longest
// time that a change waits for the lock meanwhile?
//
//	go test -run '^$' -bench Rates -benchtime 5x ./primary
//
// What counts: B/channel beside the table of a million factors (150 at most),
// locked-ms (a few).
func BenchmarkRates(b *testing.B) {
	for _, cost := range []honeycomb.Cost{honeycomb.Polls, honeycomb.Bytes} {
		for _, policy := range []honeycomb.Policy{honeycomb.Lite, honeycomb.Fair} {
			b.Run(fmt.Sprintf("%v/%v", policy, cost), func(b *testing.B) { benchmarkRates(b, policy, cost) })
		}
	}
}

const million = 1_000_000

func benchmarkRates(b *testing.B, policy honeycomb.Policy, cost honeycomb.Cost) {
	store := crowded(million)
	before := inUse()
	owner := New(Config{
		Interval: 30 * time.Minute, Floor: 5 * time.Minute, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		Policy: policy, Cost: cost, HostGap: func(string) time.Duration { return time.Second },
	}, store, nil)
	owner.RangeGained(everything, 1)
	began := time.Now()
	if err := owner.Start(deaf{}); err != nil {
		b.Fatal(err)
	}
	start := time.Since(began).Seconds()
	for n := range million {
		owner.Sized(store.page[n].ID, 1, int64(500+n%50000))
	}
	least := make(map[string]time.Duration)
	for b.Loop() {
		note(least, "full", owner, store, func() { must(b, owner.solve(true)) })
		note(least, "explain", owner, store, func() {
			_, err := owner.Explain(store.page[7].ID)
			must(b, err)
		})
		for _, changes := range []int{1, 100} {
			for n := range changes {
				ch := &store.page[n*997]
				ch.Subscribers += 1 + ch.Subscribers/4
				owner.ChannelChanged(*ch, false)
			}
			note(least, fmt.Sprintf("update-%d", changes), owner, store, func() { must(b, owner.solve(false)) })
		}
	}
	began = time.Now()
	for n := range million {
		owner.ChannelChanged(store.page[n*7919%million], false)
	}
	b.ReportMetric(float64(time.Since(began).Nanoseconds())/million, "change-ns")
	for what, took := range least {
		b.ReportMetric(took.Seconds()*1e3, what+"-ms")
	}
	b.ReportMetric(float64(inUse()-before)/million, "B/channel")
	b.ReportMetric(start, "start-s")
	runtime.KeepAlive(owner)
}

// Question: what does a round of all cost for a million channels beside those of 240
// other ranges, summaries for other nodes included, and one of a hundred that changed?
//
//	go test -run '^$' -bench Beside -benchtime 5x ./primary
//
// What counts: core-%, of one core, at a round of all each ten minutes (2 at most).
func BenchmarkBeside(b *testing.B) {
	for _, cost := range []honeycomb.Cost{honeycomb.Polls, honeycomb.Bytes} {
		b.Run(cost.String(), func(b *testing.B) { benchmarkBeside(b, cost) })
	}
}

func benchmarkBeside(b *testing.B, cost honeycomb.Cost) {
	store := crowded(million)
	var ranges []channel.Range
	for i := range 256 {
		from := i % 16 * channel.Buckets / 16 // those of others are anywhere
		ranges = append(ranges, channel.Range{ID: uint32(i), From: channel.Bucket(from), To: channel.Bucket(from + channel.Buckets/16 - 1)})
	}
	var told []byte
	owner := New(Config{
		Interval: 30 * time.Minute, Floor: 5 * time.Minute, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		Cost: cost, HostGap: func(string) time.Duration { return time.Second },
		Pollers: func() int { return 16 }, Ranges: func() []channel.Range { return ranges }, Tell: func(tradeoffs []byte) { told = tradeoffs },
	}, store, nil)
	for _, r := range ranges[:16] {
		owner.RangeGained(r, 1)
	}
	if err := owner.Start(deaf{}); err != nil {
		b.Fatal(err)
	}
	for n := range million {
		owner.Sized(store.page[n].ID, 1, int64(500+n%50000))
	}
	must(b, owner.solve(true))
	own, wrong, err := decodeTradeoffs(told, owner.exchange.settings, owner.exchange.byID())
	if len(own) != 16 || len(wrong) > 0 || err != nil {
		b.Fatal(len(own), wrong, err)
	}
	for i := range 240 {
		one := own[i%16]
		one.Range = uint32(16 + i)
		must(b, owner.Hear(encodeTradeoffs(owner.exchange.settings, []local.Told{one})))
	}
	least := make(map[string]time.Duration)
	for b.Loop() {
		note(least, "full", owner, store, func() { must(b, owner.solve(true)) })
		for n := range 100 {
			ch := &store.page[n*997]
			ch.Subscribers += 1 + ch.Subscribers/4
			owner.ChannelChanged(*ch, false)
		}
		note(least, "update-100", owner, store, func() { must(b, owner.solve(false)) })
	}
	if got := len(owner.rates.others.Summaries); got != 240 {
		b.Fatalf("beside %d ranges", got)
	}
	for what, took := range least {
		b.ReportMetric(took.Seconds()*1e3, what+"-ms")
	}
	b.ReportMetric(100*least["full"].Seconds()/defaultMaintenance.Seconds(), "core-%")
	b.ReportMetric(float64(len(told))/16, "B/range")
}

func must(b *testing.B, err error) {
	if err != nil {
		b.Fatal(err)
	}
}

func inUse() int64 {
	debug.FreeOSMemory()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// note keeps the least of all rounds, since a busy machine only adds to them: how long
// something takes, and the longest that a change waits meanwhile.
func note(least map[string]time.Duration, what string, owner *Owner, store *crowd, do func()) {
	done, longest := make(chan struct{}), make(chan time.Duration)
	go func() {
		var most time.Duration
		for {
			select {
			case <-done:
				longest <- most
				return
			case <-time.After(100 * time.Microsecond):
			}
			began := time.Now()
			owner.ChannelChanged(store.page[0], false)
			most = max(most, time.Since(began))
		}
	}()
	began := time.Now()
	do()
	took := time.Since(began)
	close(done)
	for name, d := range map[string]time.Duration{what: took, what + "-locked": <-longest} {
		if before, known := least[name]; !known || d < before {
			least[name] = d
		}
	}
}

// crowd is a store of channels, in the order of their IDs, that nothing changes: half
// of them on ten hosts.
type crowd struct {
	Store
	page []channel.Channel
}

func crowded(n int) *crowd {
	c := &crowd{page: make([]channel.Channel, n)}
	for i := range c.page {
		url := fmt.Sprintf("http://host%d.example/%d", i%10, i)
		if i%2 == 0 {
			url = fmt.Sprintf("http://own%d.example/", i)
		}
		c.page[i] = channel.Channel{ID: channel.IDOf(url), URL: url, Incarnation: 1, Version: 1, Subscribers: uint64(1 + 100*n/(i+n/50))}
	}
	slices.SortFunc(c.page, func(a, b channel.Channel) int { return a.ID.Compare(b.ID) })
	return c
}

func (c *crowd) find(id channel.ID) (int, bool) {
	return slices.BinarySearchFunc(c.page, id, func(ch channel.Channel, id channel.ID) int { return ch.ID.Compare(id) })
}

func (c *crowd) Channel(id channel.ID) (channel.Channel, error) {
	at, _ := c.find(id)
	return c.page[at], nil
}

func (c *crowd) ChannelsIn(_ channel.Range, after *channel.ID, limit int) ([]channel.Channel, error) {
	at := 0
	if after != nil {
		at, _ = c.find(*after)
		at++
	}
	return c.page[at:min(at+limit, len(c.page))], nil
}

// deaf is a Poller that does nothing.
type deaf struct{}

func (deaf) Begin(channel.Range, uint64)                {}
func (deaf) Complete(channel.Range)                     {}
func (deaf) End(channel.Range)                          {}
func (deaf) Order(...engine.Order)                      {}
func (deaf) Repace(...engine.Pace) (whole []channel.ID) { return nil }
func (deaf) Drop(...channel.ID)                         {}
func (deaf) Wait()                                      {}
