package wedge

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/protobuf/proto"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/overlay"
	"github.com/seed-91e7e7c1/corona/wedge/internal/wire"
)

// Items come out of their encoding as they went in.
func TestBatchEncoding(t *testing.T) {
	url := "https://example.com/"
	id := channel.IDOf(url)
	rate := overlay.Rate{Polls: 1, Intervals: 48}
	b := batch{Session: Session{channel.Range{ID: 3, To: channel.Buckets - 1}, 7, 9}, begin: true, complete: true, items: []any{
		engine.Order{Channel: id, Incarnation: 2, URL: url, Rate: rate, Width: 3, Rank: 2, Version: 5, Hash: deltas.Hash{1}, Held: true,
			Ask: "https://example.org/", MovedTo: "https://example.net/", MovedAgain: time.UnixMicro(1e15), Subscribers: 12, Most: overlay.Rate{Polls: 4, Intervals: 1}},
		engine.Order{Channel: id, Incarnation: 1, URL: url, Rate: overlay.Rate{Polls: 1, Intervals: 1}, Width: 1},
		engine.Pace{Channel: id, Incarnation: 2, Rate: rate, Width: 2, Rank: 1},
		id,
		engine.News{Channel: id, Incarnation: 2, Version: 6, Hash: deltas.Hash{2}, Held: true, Base: deltas.Hash{3}, Patch: []byte("p"),
			Shown: engine.Shown{RawHash: 1 << 63, ETag: "\"\xe9\"", LastModified: "\xff", URL: "u", FeedURL: "f"}}, // origins send any bytes
	}}
	sentAs, err := proto.Marshal(b.encode())
	if err != nil {
		t.Fatal(err)
	}
	cameAs := new(wire.Batch)
	if err := proto.Unmarshal(sentAs, cameAs); err != nil {
		t.Fatal(err)
	}
	got, wrong, err := decodeBatch(cameAs)
	if err != nil || len(wrong) > 0 {
		t.Fatal(wrong, err)
	}
	if got.Session != b.Session || !got.begin || !got.complete || !slices.Equal(kinds(got.items), kinds(b.items)) {
		t.Fatalf("%+v becomes %+v", b, got)
	}
	for i := range b.items[:4] {
		if got.items[i] != b.items[i] {
			t.Errorf("%+v becomes %+v", b.items[i], got.items[i])
		}
	}
	sent, came := b.items[4].(engine.News), got.items[4].(engine.News)
	if string(came.Patch) != string(sent.Patch) || came.Shown != sent.Shown || came.Base != sent.Base || came.Hash != sent.Hash || came.Version != 6 || !came.Held {
		t.Errorf("%+v becomes %+v", sent, came)
	}
}

func kinds(items []any) (kinds []string) {
	for _, item := range items {
		switch item.(type) {
		case engine.Order:
			kinds = append(kinds, "order")
		case engine.Pace:
			kinds = append(kinds, "pace")
		case channel.ID:
			kinds = append(kinds, "drop")
		case engine.News:
			kinds = append(kinds, "news")
		}
	}
	return kinds
}

// Orders that cannot be meant are refused, and the rest of their batch stands.
func TestBadOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		n := w.nodes[1]
		good := w.order(w.ranges[0], 1, 1)
		stranger := w.order(w.ranges[1], 1, 1)
		encode := func(change func(o *wire.Order)) *wire.Item {
			o := encodeOrder(&good)
			change(o)
			return &wire.Item{Of: &wire.Item_Order{Order: o}}
		}
		bad := []*wire.Item{
			{},
			{Of: &wire.Item_Drop{Drop: good.Channel[1:]}},
			{Of: &wire.Item_Drop{Drop: stranger.Channel[:]}},
			{Of: &wire.Item_Pace{Pace: encodePace(engine.Pace{Channel: stranger.Channel, Rate: good.Rate, Width: 1})}},
			{Of: &wire.Item_News{News: &wire.News{Channel: good.Channel[:], Hash: []byte("short")}}},
			{Of: &wire.Item_News{News: &wire.News{Channel: good.Channel[:], Base: []byte("short")}}},
			encodeItem(stranger),
			encode(func(o *wire.Order) { o.Pace = nil }),
			encode(func(o *wire.Order) { o.Url = "https://example.com/another" }),
			encode(func(o *wire.Order) { o.Hash = o.Hash[1:] }),
			encode(func(o *wire.Order) { o.Pace.Polls = 0 }),
			encode(func(o *wire.Order) { o.Pace.Polls = 1 << 31 }),
			encode(func(o *wire.Order) { o.Pace.Intervals = overlay.MostIntervals + 1 }),
			encode(func(o *wire.Order) { o.Pace.Rank = o.Pace.Width }),
			encode(func(o *wire.Order) { o.Pace.Width = 1 << 16 }),
		}
		session := Session{Range: w.ranges[0], Term: 1, Sequence: 1}
		serve := func(m *wire.Batch) (*wire.Reply, error) {
			bytes, err := proto.Marshal(&wire.Request{Of: &wire.Request_Batch{Batch: m}})
			if err != nil {
				t.Fatal(err)
			}
			reply := new(wire.Reply)
			if bytes, err = n.poller.Serve(t.Context(), "n0", bytes); err != nil {
				return nil, err
			}
			return reply, proto.Unmarshal(bytes, reply)
		}
		if _, err := serve(&wire.Batch{Session: session.encode(), Begin: true, Items: bad}); err != nil {
			t.Fatal(err)
		}
		if n.engine.orderedSoFar() != 0 {
			t.Fatal("a bad order was obeyed")
		}
		if refused := testutil.ToFloat64(n.poller.metrics.refused); refused != float64(len(bad)) {
			t.Errorf("%v orders were counted as refused, want %d", refused, len(bad))
		}
		session.Sequence = 2
		reply, err := serve(&wire.Batch{Session: session.encode(), Items: append(bad, encodeItem(good))})
		if got, ordered := n.engine.order(good.Channel); err != nil || len(reply.GetAgain()) > 0 || !ordered || got != good {
			t.Errorf("the good order of a bad batch: %+v, %v, %v", got, reply, err)
		}
		for name, s := range map[string]*wire.Session{"none": nil, "upside down": {From: 2, To: 1}, "beyond all": {To: channel.Buckets}} {
			if _, err := serve(&wire.Batch{Session: s, Begin: true}); name != "none" && err == nil {
				t.Errorf("a batch with a session that is %s was taken", name)
			}
		}
		session.Sequence = 4
		if reply, err := serve(&wire.Batch{Session: session.encode()}); err != nil || len(reply.GetAgain()) != 1 {
			t.Errorf("a batch behind one that is missing: %v, %v", reply, err)
		}
	})
}

// Whatever calls are lost, and whichever nodes lead, pollers come to poll what the last
// owner of each range has ordered.
func TestOrdersThroughLoss(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			w := newWorld(t, 4)
			last := make(map[channel.ID]int)
			for term := uint64(1); term < 12; term++ {
				r := w.ranges[random.IntN(2)]
				n := w.nodes[random.IntN(len(w.nodes))]
				for _, other := range w.nodes {
					if other != n {
						other.owner.End(r)
					}
				}
				n.judge.mu.Lock()
				maps.DeleteFunc(n.judge.orders, func(id channel.ID, _ engine.Order) bool { return r.Has(id.Bucket()) })
				n.judge.mu.Unlock()
				var orders []engine.Order
				for range random.IntN(20) {
					orders = append(orders, w.order(r, random.IntN(30), 1+random.IntN(4)))
				}
				orders = slices.CompactFunc(slices.SortedFunc(slices.Values(orders), func(a, b engine.Order) int { return a.Channel.Compare(b.Channel) }),
					func(a, b engine.Order) bool { return a.Channel == b.Channel })
				n.lead(r, term, orders...)
				maps.DeleteFunc(last, func(id channel.ID, _ int) bool { return r.Has(id.Bucket()) })
				for _, order := range orders {
					last[order.Channel] = order.Width
				}
				a, b := w.nodes[random.IntN(4)], w.nodes[random.IntN(4)]
				w.cutBetween(a, b, true)
				time.Sleep(time.Duration(random.IntN(100)) * time.Second)
				w.cutBetween(a, b, false)
			}
			time.Sleep(2 * lease)
			polled := 0
			for id, width := range last {
				w.wantWidth(id, width)
			}
			for _, n := range w.nodes {
				polled += len(n.engine.Ordered(allBuckets))
			}
			sum := 0
			for _, width := range last {
				sum += width
			}
			if polled != sum {
				t.Errorf("seed %d: %d orders stand, want %d", seed, polled, sum)
			}
		})
	}
}

// FuzzServe asks whether bytes from another node can do harm on either side.
func FuzzServe(f *testing.F) {
	id := channel.IDOf("https://example.com/")
	session := (Session{Range: channel.Range{To: channel.Buckets - 1}, Term: 1, Sequence: 1}).encode()
	for _, m := range []*wire.Request{
		{Of: &wire.Request_Batch{Batch: &wire.Batch{Session: session, Begin: true, Items: []*wire.Item{encodeItem(id)}}}},
		{Of: &wire.Request_Leases{Leases: &wire.Leases{Sessions: []*wire.Session{session}}}},
		{Of: &wire.Request_Asked{Asked: &wire.Asked{Channels: [][]byte{id[:]}}}},
	} {
		bytes, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(bytes)
	}
	report, err := proto.Marshal(&wire.Report{Channel: id[:], Incarnation: 1, Begun: 1, Hash: make([]byte, 16), Content: []byte("c")})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(report)
	f.Fuzz(func(t *testing.T, bytes []byte) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, 2)
			n := w.nodes[0]
			n.lead(w.ranges[0], 2)
			reply, err := n.poller.Serve(t.Context(), "n1", bytes)
			if err == nil && proto.Unmarshal(reply, new(wire.Reply)) != nil {
				t.Errorf("the reply %x", reply)
			}
			_, _ = n.owner.ServeReport(t.Context(), bytes)
			_ = n.owner.ServeNotes(bytes)
			n.poller.expire(time.Now().Add(2 * lease))
		})
	})
}
