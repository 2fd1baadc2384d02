package wedge

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/wedge/internal/wire"
)

// A change that one poller sees is judged by the owner with content and base, and the
// other pollers learn it as a patch with what the origin sent.
func TestChangeIsReportedAndTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3)
		order := w.order(w.ranges[0], 1, 3)
		owner, seer, other := w.nodes[0], w.nodes[1], w.nodes[2]
		owner.lead(w.ranges[0], 1, order)
		synctest.Wait()
		shown := engine.Shown{RawHash: 7, ETag: `"v"`, URL: "https://example.com/elsewhere"}
		var base *deltas.Core
		for version := range uint64(4) {
			core := page(t, 20+int(version))
			report := engine.Report{Channel: order.Channel, Incarnation: 1, Begun: time.Now().Add(-time.Second), BaseVersion: version, Base: base, Core: core, Shown: shown}
			answer, err := seer.poller.Report(t.Context(), report)
			if err != nil || answer.Version != version+1 || answer.Hash != core.Hash {
				t.Fatalf("version %d: %+v, %v", version+1, answer, err)
			}
			synctest.Wait()
			reports := owner.judge.reported()
			got := reports[len(reports)-1]
			if len(reports) != int(version)+1 || !got.Begun.Equal(report.Begun) || (got.Base == nil) != (base == nil) || got.Core.Hash != core.Hash {
				t.Fatalf("version %d: %d reports, the last %+v", version+1, len(reports), got)
			}
			news := other.engine.learned()
			if len(news) != int(version)+1 {
				t.Fatalf("version %d: the other poller heard of %d versions", version+1, len(news))
			}
			if last := news[version]; base != nil {
				made, err := deltas.ApplyDelta(base, last.Patch)
				if err != nil || made.Hash != core.Hash || last.Base != base.Hash || last.Shown != shown {
					t.Fatalf("version %d: news %+v make %v, %v", version+1, last, made, err)
				}
			}
			base = core
		}
		if n := len(seer.engine.learned()); n != 0 {
			t.Errorf("the poller that saw the changes was told of %d", n)
		}
	})
}

// An owner keeps contents of channels as long as it orders them.
func TestContentsEndWithOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		owner, seer := w.nodes[0], w.nodes[1]
		orders := []engine.Order{w.order(w.ranges[0], 1, 1), w.order(w.ranges[0], 2, 1), w.order(w.ranges[1], 1, 1)}
		owner.lead(w.ranges[0], 1, orders[:2]...)
		owner.lead(w.ranges[1], 1, orders[2])
		synctest.Wait()
		for _, order := range orders {
			report := engine.Report{Channel: order.Channel, Incarnation: 1, Begun: time.Now(), Core: page(t, 20)}
			if _, err := seer.poller.Report(t.Context(), report); err != nil {
				t.Fatal(err)
			}
		}
		kept := func() (n int) {
			for _, order := range orders {
				if owner.owner.reports.bases.packed(order.Channel, page(t, 20).Hash) != nil {
					n++
				}
			}
			return n
		}
		if n := kept(); n != 3 {
			t.Fatalf("%d contents of 3 are kept", n)
		}
		owner.owner.Drop(orders[0].Channel)
		if n := kept(); n != 2 {
			t.Errorf("%d contents are kept after a channel was dropped, want 2", n)
		}
		owner.owner.End(w.ranges[0])
		if n := kept(); n != 1 {
			t.Errorf("%d contents are kept after the owner has lost a range, want 1", n)
		}
	})
}

// Who reports on a base that is not current is given what it lacks, and its content is
// not asked for; who has seen the current version itself is told so.
func TestStaleBaseIsMended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3)
		order := w.order(w.ranges[0], 1, 3)
		owner, first, second := w.nodes[0], w.nodes[1], w.nodes[2]
		owner.lead(w.ranges[0], 1, order)
		cores := []*deltas.Core{page(t, 10), page(t, 11), page(t, 12)}
		report := func(n *node, version uint64, base, core *deltas.Core) engine.Answer {
			t.Helper()
			answer, err := n.poller.Report(t.Context(), engine.Report{Channel: order.Channel, Incarnation: 1, Begun: time.Now(), BaseVersion: version, Base: base, Core: core})
			if err != nil {
				t.Fatal(err)
			}
			return answer
		}
		report(first, 0, nil, cores[0])
		report(first, 1, cores[0], cores[1])
		report(first, 2, cores[1], cores[2])
		judged := len(owner.judge.reported())
		for name, n := range map[string]*node{"another node": second, "the owner's node": owner} {
			answer := report(n, 1, cores[0], page(t, 30))
			if answer.Version != 3 || answer.Hash != cores[2].Hash {
				t.Errorf("%s: %+v", name, answer)
			}
			if n == second && (answer.Current == nil || answer.Current.Hash != cores[2].Hash) {
				t.Errorf("%s was not given the current version: %+v", name, answer.Current)
			}
		}
		if got := report(second, 0, nil, page(t, 30)); got.Current == nil || got.Current.Hash != cores[2].Hash {
			t.Errorf("a poller without content was not given the current version: %+v", got)
		}
		if got := report(second, 1, cores[0], cores[2]); got.Version != 3 || got.Current != nil {
			t.Errorf("a poller that has seen the current version: %+v", got)
		}
		if n := len(owner.judge.reported()) - judged; n != 1 {
			t.Errorf("%d reports were judged, want that of the owner's own node alone", n)
		}
	})
}

// Patches that would take too much of an answer are not sent: the content is.
func TestLargePatchesGiveWayToContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const versions = 20
		w := newWorld(t, 2)
		order := w.order(w.ranges[0], 1, 2)
		owner, seer := w.nodes[0], w.nodes[1]
		owner.lead(w.ranges[0], 1, order)
		first := w.change(order, seer, 1, nil)
		core := first
		for version := uint64(2); version <= versions; version++ {
			core = w.change(order, seer, version, core)
		}
		ch, err := owner.judge.Channel(order.Channel)
		if err != nil {
			t.Fatal(err)
		}
		report := engine.Report{Channel: order.Channel, Incarnation: 1, Begun: time.Now(), BaseVersion: 1, Base: first, Core: page(t, 90)}
		if patches := owner.owner.reports.patches(&report, ch, false); len(patches) != versions-1 {
			t.Errorf("%d small patches are sent, want %d", len(patches), versions-1)
		}
		owner.judge.mu.Lock()
		for i := range owner.judge.updates[order.Channel] {
			owner.judge.updates[order.Channel][i].Patch = make([]byte, engine.MaxPatch)
		}
		owner.judge.mu.Unlock()
		answer, err := seer.poller.Report(t.Context(), report)
		if err != nil || answer.Version != versions || answer.Current == nil || answer.Current.Hash != core.Hash {
			t.Errorf("behind large patches: %+v, %v", answer, err)
		}
	})
}

// A delta that is larger than any patch that is kept is not told.
func TestLargeDeltaIsNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		order := w.order(w.ranges[0], 1, 1)
		for _, test := range []struct {
			core *deltas.Core
			told bool
		}{{page(t, 11), true}, {noise(t, 4<<20), false}} {
			patch := w.nodes[0].owner.reports.patch(&engine.Report{Channel: order.Channel, Base: page(t, 10), Core: test.core}, engine.Answer{Version: 2})
			if told := patch != nil; told != test.told {
				t.Errorf("a patch of %d bytes, want one: %v", len(patch), test.told)
			}
		}
	})
}

// Contents that do not fit their hashes, are no contents, or come without a channel are
// refused, and nothing is judged.
func TestBadReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		order := w.order(w.ranges[0], 1, 2)
		owner := w.nodes[0]
		owner.lead(w.ranges[0], 1, order)
		base, core, third := page(t, 10), page(t, 11), page(t, 12)
		pack := func(c *deltas.Core) []byte { return owner.owner.reports.bases.packer.Append(nil, c) }
		good := func() *wire.Report {
			return &wire.Report{Channel: order.Channel[:], Incarnation: 1, Begun: 1, Hash: core.Hash[:], BaseHash: base.Hash[:], Base: pack(base), Delta: deltas.MakeDelta(base, core)}
		}
		owner.judge.know(order)
		ch := owner.judge.channels[order.Channel]
		ch.Hash = base.Hash
		owner.judge.channels[order.Channel] = ch
		for name, spoil := range map[string]func(m *wire.Report){
			"no channel":             func(m *wire.Report) { m.Channel = m.Channel[1:] },
			"no time":                func(m *wire.Report) { m.Begun = 0 },
			"a hash too short":       func(m *wire.Report) { m.Hash = m.Hash[1:] },
			"a base's hash too long": func(m *wire.Report) { m.BaseHash = append(m.BaseHash, 1) },
			"another delta":          func(m *wire.Report) { m.Delta = deltas.MakeDelta(base, third) },
			"no delta":               func(m *wire.Report) { m.Delta = []byte("no delta") },
			"another base":           func(m *wire.Report) { m.Base = pack(third) },
			"no base":                func(m *wire.Report) { m.Base = []byte("nothing that was packed") },
			"another content":        func(m *wire.Report) { m.BaseHash, m.Base, m.Delta, m.Content = nil, nil, nil, pack(third) },
		} {
			m := good()
			spoil(m)
			bytes, err := proto.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := owner.owner.ServeReport(t.Context(), bytes); !errors.Is(err, ErrReport) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if n := len(owner.judge.reported()); n != 0 {
			t.Fatalf("%d bad reports were judged", n)
		}
		if answer, err := owner.owner.reports.answer(t.Context(), good()); err != nil || answer.Version != 1 || len(owner.judge.reported()) != 1 {
			t.Errorf("a good report: %v, %v", answer, err)
		}
	})
}

// countingAsker counts questions about reports.
type countingAsker struct {
	Asker
	questions int
}

func (a *countingAsker) Report(ctx context.Context, b channel.Bucket, report []byte) ([]byte, error) {
	a.questions++
	return a.Asker.Report(ctx, b, report)
}

// digits returns a page that a delta takes nearly so many bytes for.
func digits(t *testing.T, bytes int) *deltas.Core {
	t.Helper()
	random := rand.NewChaCha8([32]byte{})
	text := make([]byte, bytes)
	_, _ = random.Read(text) // which never fails
	core, err := deltas.Extract(deltas.Document{Body: fmt.Appendf(nil, "<html><body><p>%x</p>", text), ContentType: "text/html", URL: "https://example.com/"})
	if err != nil {
		t.Fatal(err)
	}
	return core
}

// A small change takes one question, with the delta, which the owner judges by; a large
// one two.
func TestSmallDeltaIsSentUnasked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		order := w.order(w.ranges[0], 1, 2)
		owner, seer := w.nodes[0], w.nodes[1]
		owner.lead(w.ranges[0], 1, order)
		asker := &countingAsker{Asker: seer}
		seer.poller.config.Ask = asker
		var base *deltas.Core
		for version, change := range []struct {
			core      *deltas.Core
			questions int
		}{{page(t, 20), 2}, {page(t, 21), 1}, {digits(t, 2*unasked), 2}} {
			core := change.core
			asker.questions = 0
			_, err := seer.poller.Report(t.Context(), engine.Report{Channel: order.Channel, Incarnation: 1, Begun: time.Now(), BaseVersion: uint64(version), Base: base, Core: core})
			if err != nil || asker.questions != change.questions {
				t.Errorf("version %d: %d questions, want %d; %v", version+1, asker.questions, change.questions, err)
			}
			reports := owner.judge.reported()
			last := reports[len(reports)-1]
			if made, err := deltas.ApplyDelta(base, last.Delta); base != nil && (err != nil || made.Hash != core.Hash) {
				t.Errorf("version %d: judged with the delta %x: %v", version+1, last.Delta, err)
			}
			base = core
		}
	})
}

// A report without a leader is an error: the poller keeps nothing of its poll.
func TestReportWithoutOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		order := w.order(w.ranges[0], 1, 2)
		_, err := w.nodes[1].poller.Report(t.Context(), engine.Report{Channel: order.Channel, Incarnation: 1, Begun: time.Now(), Core: page(t, 3)})
		if !errors.Is(err, errNoLeader) {
			t.Errorf("%v", err)
		}
	})
}

// What is told in passing reaches the owner, the latest of it, also when the range has no
// owner for a while.
func TestNotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		order := w.order(w.ranges[0], 1, 2)
		owner, poller := w.nodes[0], w.nodes[1].poller
		owner.lead(w.ranges[0], 1, order)
		synctest.Wait()
		owner.owner.End(w.ranges[0])
		poller.Bound(order.Channel, 1, time.Minute)
		poller.Sized(order.Channel, 1, 1000)
		poller.Sized(order.Channel, 1, 2000)
		time.Sleep(5 * time.Second)
		if got := owner.judge.noted(); len(got) != 0 {
			t.Fatalf("told without an owner: %v", got)
		}
		owner.lead(w.ranges[0], 2, order)
		time.Sleep(5 * time.Second)
		want := []string{"bound " + order.Channel.String() + " 1 1m0s", "size " + order.Channel.String() + " 1 2000"}
		if got := owner.judge.noted(); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
			t.Errorf("told %q, want %q", got, want)
		}
		move := engine.Move{Channel: order.Channel, Incarnation: 1, To: "https://example.org/"}
		for _, n := range w.nodes {
			if err := n.poller.Moved(context.Background(), move); err != nil {
				t.Error(err)
			}
		}
		if len(owner.judge.moves) != 2 {
			t.Errorf("%d moves were told, want 2", len(owner.judge.moves))
		}
	})
}

// All pollers of a channel hear within two seconds until when its origin wants to be spared,
// whichever of them was asked, and no other node does. What is said while the channel has no
// owner is told to the next one.
func TestSpare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 4)
		order := w.order(w.ranges[0], 1, 3)
		owner := w.nodes[0]
		owner.lead(w.ranges[0], 1, order)
		synctest.Wait()
		pollers := w.wantWidth(order.Channel, 3)
		want := engine.Spare{Channel: order.Channel, Incarnation: 1}
		times := 0
		told := func() {
			t.Helper()
			for _, n := range w.nodes {
				spared := n.engine.spared()
				if !slices.Contains(pollers, n.name) {
					if len(spared) > 0 {
						t.Errorf("%s does not poll the channel, and was told %v", n.name, spared)
					}
					continue
				}
				if len(spared) != times || times > 0 && !spared[times-1].Until.Equal(want.Until) {
					t.Errorf("%s was told %v, want %d times, the last until %v", n.name, spared, times, want.Until)
				}
			}
		}
		for i, n := range w.nodes {
			if !slices.Contains(pollers, n.name) {
				continue
			}
			told()
			want.Until = time.Now().Add(time.Duration(i+1) * time.Hour)
			n.poller.Spared(want)
			time.Sleep(2 * time.Second)
			times++
		}
		told()
		owner.owner.End(w.ranges[0])
		want.Until = time.Now().Add(9 * time.Hour)
		owner.poller.Spared(want)
		time.Sleep(5 * time.Second)
		owner.lead(w.ranges[0], 2, order)
		time.Sleep(2 * time.Second)
		times++
		told()
	})
}
