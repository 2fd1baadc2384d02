package grants

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/channel"
)

// world is some nodes with clocks of their own, each of which may lead, and messages
// between them of which any may be lost, repeated, late and overtaken.
type world struct {
	now       time.Duration // true time
	nodes     []*node
	leader    int // -1: none
	table     *Table
	hosts     []channel.ID
	questions []question
	answers   []answer
	telling   []told
}

type node struct {
	*Holder
	starts time.Time // what its clock said at the beginning
	rate   float64   // of its clock
}

type question struct {
	node   int
	number uint64
	asks   []Ask
}

// told is what a node told the leader of a term.
type told struct {
	table  *Table
	node   int
	number uint64
	held   []Share
}

type answer struct {
	node   int
	number uint64
	shares []Share
	kept   bool
}

func newWorld(nodes int, rate func() float64) *world {
	w := &world{leader: -1}
	for i := range nodes {
		w.nodes = append(w.nodes, &node{Holder: NewHolder(100), starts: time.Unix(int64(i)*1e6, 0), rate: rate()})
	}
	for i := range 2 {
		w.hosts = append(w.hosts, channel.HostID(fmt.Sprint(i)))
	}
	return w
}

// clock returns what a node's clock says.
func (w *world) clock(i int) time.Time {
	n := w.nodes[i]
	return n.starts.Add(time.Duration(float64(w.now) * n.rate))
}

func (w *world) lead(i int) {
	if w.leader = i; i >= 0 {
		w.table = NewTable([]string{"0", "1", "2", "3"}[:len(w.nodes)], w.clock(i))
	}
}

func (w *world) ask(i int, demands ...channel.Demand) {
	number, asks := w.nodes[i].Ask(demands, 10, w.clock(i))
	if len(asks) > 0 {
		w.questions = append(w.questions, question{i, number, asks})
	}
}

func (w *world) answer(q question) {
	if w.leader >= 0 {
		shares, kept := w.table.Answer(fmt.Sprint(q.node), q.number, q.asks, w.clock(w.leader))
		w.answers = append(w.answers, answer{q.node, q.number, shares, kept})
	}
}

// tell has a node tell the leader what it holds.
func (w *world) tell(i int) {
	if w.leader >= 0 {
		number, held := w.nodes[i].Tell(w.clock(i))
		w.telling = append(w.telling, told{w.table, i, number, held})
	}
}

// hear has the leader hear what a node told it, unless another term has begun.
func (w *world) hear(one told) {
	if w.leader >= 0 && one.table == w.table {
		w.table.Told(fmt.Sprint(one.node), one.number, one.held, w.clock(w.leader))
	}
}

func (w *world) take(a answer) { w.nodes[a.node].Take(a.number, a.shares, a.kept, w.clock(a.node)) }

// held returns what a node may take of a host's cap.
func (w *world) held(i int, host channel.ID) int64 {
	if one := w.nodes[i].hosts[host]; one != nil {
		return one.holds(w.clock(i))
	}
	return 0
}

func (w *world) sum(host channel.ID) (sum int64) {
	for i := range w.nodes {
		sum += w.held(i, host)
	}
	return sum
}

// round has some nodes ask about the first host, with nothing lost.
func (w *world) round(after time.Duration, needs map[int]int64) {
	w.now += after
	for i := range w.nodes {
		if need, asks := needs[i]; asks {
			w.questions = nil
			w.ask(i, channel.Demand{Host: w.hosts[0], Part: need})
			for _, q := range w.questions {
				w.answers = nil
				w.answer(q)
				w.take(w.answers[0])
			}
		}
		w.lapse(i, true)
	}
}

// lapse has a node look which of its grants are over, while it needs all of them or none.
func (w *world) lapse(i int, needs bool) []channel.Grant {
	var demands []channel.Demand
	for _, host := range w.hosts {
		if needs {
			demands = append(demands, channel.Demand{Host: host, Part: channel.WholeCap})
		}
	}
	return w.nodes[i].Lapse(demands, w.clock(i))
}

func sound() float64 { return 1 }

// TestSumKeepsCap: whatever happens to messages, leaders and clocks, what all nodes hold of
// a host's cap is the pool at most.
func TestSumKeepsCap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(4, func() float64 { return rapid.Float64Range(0.98, 1.02).Draw(t, "rate") })
		w.lead(0)
		w.now = 40 * time.Second
		pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "message") }
		held := int64(0)
		for range 4 { // leases take long runs
			t.Repeat(map[string]func(*rapid.T){
				"pass": func(t *rapid.T) {
					w.now += time.Duration(rapid.IntRange(0, 12_000).Draw(t, "ms")) * time.Millisecond
				},
				"ask": func(t *rapid.T) {
					part := rapid.SampledFrom([]int64{20_000, 300_000, 700_000, channel.WholeCap})
					w.ask(rapid.IntRange(0, 3).Draw(t, "node"),
						channel.Demand{Host: w.hosts[0], Part: part.Draw(t, "need")}, channel.Demand{Host: w.hosts[1], Part: part.Draw(t, "need")})
				},
				"exchange": func(t *rapid.T) {
					w.ask(rapid.IntRange(0, 3).Draw(t, "node"), channel.Demand{Host: w.hosts[0], Part: rapid.Int64Range(1, channel.WholeCap).Draw(t, "need")})
					if n := len(w.questions); n > 0 {
						w.answer(w.questions[n-1])
					}
					if n := len(w.answers); n > 0 && rapid.IntRange(0, 3).Draw(t, "lost") > 0 {
						w.take(w.answers[n-1])
					}
				},
				"question": func(t *rapid.T) {
					if n := len(w.questions); n > 0 {
						w.answer(w.questions[pick(n)])
					}
				},
				"answer": func(t *rapid.T) {
					if n := len(w.answers); n > 0 {
						w.take(w.answers[pick(n)])
					}
				},
				"tell": func(t *rapid.T) { w.tell(rapid.IntRange(0, 3).Draw(t, "node")) },
				"hear": func(t *rapid.T) {
					if n := len(w.telling); n > 0 {
						w.hear(w.telling[pick(n)])
					}
				},
				"all tell": func(t *rapid.T) {
					for i := range w.nodes {
						w.tell(i)
						if n := len(w.telling); n > 0 {
							w.hear(w.telling[n-1])
						}
					}
				},
				"lapse": func(t *rapid.T) {
					i := rapid.IntRange(0, 3).Draw(t, "node")
					w.lapse(i, rapid.Bool().Draw(t, "needs"))
				},
				"give back": func(t *rapid.T) { w.ask(rapid.IntRange(0, 3).Draw(t, "node")) },
				"restart": func(t *rapid.T) {
					i := rapid.IntRange(0, 3).Draw(t, "node")
					w.nodes[i].Holder = NewHolder(w.nodes[i].number + uint64(rapid.IntRange(0, 5).Draw(t, "numbers")))
				},
				"leader": func(t *rapid.T) {
					if rapid.IntRange(0, 7).Draw(t, "change") == 0 {
						w.lead(rapid.IntRange(-1, 3).Draw(t, "leader"))
					}
				},
				"": func(t *rapid.T) {
					for _, host := range w.hosts {
						sum := w.sum(host)
						if held = max(held, sum); sum > Pool {
							t.Fatalf("what nodes hold of a host's cap is %d of %d", sum, Pool)
						}
					}
				},
			})
		}
		t.Logf("at most %d of %d were held", held, Pool)
	})
}

// TestOneNodeGetsAll: a node that needs a host's whole cap has all of the pool while no
// other asks; one that does has as much as it needs a renewal after the first has asked again,
// which says at once that it knows; and the first has all again when the other's lease is
// over.
func TestOneNodeGetsAll(t *testing.T) {
	w := newWorld(3, sound)
	w.lead(1)
	w.round(Lease+margin, map[int]int64{0: channel.WholeCap})
	want := func(when string, first, second int64) {
		t.Helper()
		if a, b := w.held(0, w.hosts[0]), w.held(1, w.hosts[0]); a != first || b != second {
			t.Errorf("%s: %d and %d, want %d and %d", when, a, b, first, second)
		}
	}
	want("alone", Pool, 0)
	w.round(renewal, map[int]int64{1: 100_000, 0: channel.WholeCap})
	want("another asks", Pool, 0)
	w.round(renewal-time.Second, map[int]int64{0: channel.WholeCap})
	want("too soon", Pool, 0)
	w.round(time.Second, map[int]int64{0: channel.WholeCap})
	want("the first hears of it", Pool-100_000, 0)
	w.round(0, map[int]int64{0: channel.WholeCap, 1: 100_000})
	want("and says so", Pool-100_000, 100_000)
	for range 8 {
		w.round(renewal, map[int]int64{0: channel.WholeCap})
	}
	want("it has ended", Pool, 0)
}

// TestUnneededIsGivenBack: what a node needs no more another gets seconds later, not after the
// lease; and the first gets it again when it needs it.
func TestUnneededIsGivenBack(t *testing.T) {
	w := newWorld(2, sound)
	w.lead(1)
	w.round(Lease+margin, map[int]int64{0: channel.WholeCap})
	w.now += idle - 1
	if ends := w.lapse(0, false); len(ends) != 0 {
		t.Fatalf("gives back too soon: %+v", ends)
	}
	w.now++
	if ends := w.lapse(0, false); len(ends) != 1 || !ends[0].Until.Equal(w.clock(0)) {
		t.Fatalf("the engine is told of %+v", ends)
	}
	w.questions = nil
	w.ask(0)
	if len(w.questions) != 1 || w.questions[0].asks[0] != (Ask{Host: w.hosts[0]}) {
		t.Fatalf("asks %+v", w.questions)
	}
	w.answers = nil
	w.answer(w.questions[0])
	w.take(w.answers[0])
	w.round(0, map[int]int64{1: channel.WholeCap})
	if got := w.held(1, w.hosts[0]); got != Pool {
		t.Errorf("the other gets %d", got)
	}
	w.questions = nil
	if w.ask(0); len(w.questions) != 0 {
		t.Errorf("gives back twice: %+v", w.questions)
	}
	w.round(0, map[int]int64{0: 400_000})
	w.round(renewal, map[int]int64{1: channel.WholeCap})
	w.round(0, map[int]int64{1: channel.WholeCap})
	w.round(renewal, map[int]int64{0: 400_000})
	if got := w.held(0, w.hosts[0]); got != 400_000 {
		t.Errorf("it needs it again, and gets %d", got)
	}
}

// TestShareIsFair: nodes come to equal parts where there is not enough, and where there is
// half of what is left waits for the next one.
func TestShareIsFair(t *testing.T) {
	for _, test := range []struct{ needs, want []int64 }{
		{[]int64{channel.WholeCap, channel.WholeCap, channel.WholeCap}, []int64{316_666, 316_666, 316_666}},
		{[]int64{50_000, channel.WholeCap, 800_000}, []int64{50_000, 450_000, 450_000}},
		{[]int64{150_000, 200_000, 300_000}, []int64{200_000, 250_000, 350_000}},
	} {
		w := newWorld(3, sound)
		w.lead(0)
		w.now = Lease + margin
		for range 6 {
			w.round(renewal, map[int]int64{0: test.needs[0], 1: test.needs[1], 2: test.needs[2]})
		}
		for i, want := range test.want {
			if got := w.held(i, w.hosts[0]); got != want {
				t.Errorf("%v: node %d has %d, want %d", test.needs, i, got, want)
			}
		}
	}
}

// TestNewLeaderWaits: a leader grants nothing until the leases of the one before are over.
// A node that asks meanwhile keeps what it has, and one that is dead loses it.
func TestNewLeaderWaits(t *testing.T) {
	w := newWorld(3, sound)
	w.lead(0)
	for range 6 {
		w.round(Lease+margin, map[int]int64{0: channel.WholeCap, 1: channel.WholeCap})
		w.round(0, map[int]int64{0: channel.WholeCap, 1: channel.WholeCap})
	}
	want := func(when string, want ...int64) {
		t.Helper()
		for i, part := range want {
			if got := w.held(i, w.hosts[0]); got != part {
				t.Errorf("%s: node %d holds %d, want %d", when, i, got, part)
			}
		}
	}
	for range 3 {
		w.round(renewal, map[int]int64{0: channel.WholeCap, 1: channel.WholeCap})
	}
	want("one leader", Pool/2, Pool/2, 0)
	w.lead(2)
	for range 6 {
		w.round(renewal, map[int]int64{1: channel.WholeCap})
	}
	w.round(0, map[int]int64{2: channel.WholeCap})
	want("the first's leases may last", 0, Pool/2, 0)
	w.round(renewal+Lease, nil)
	w.round(0, map[int]int64{1: 100_000})
	want("they are over, and less is needed", 0, 525_000, 0)
	w.round(renewal, map[int]int64{0: channel.WholeCap})
	want("granted", Pool-525_000, 525_000, 0)
}

// TestOpensWhenAllHaveTold: a new leader grants what no node holds once all have told it
// what they hold, and a node heeds no answer to a question that it asked before it told.
func TestOpensWhenAllHaveTold(t *testing.T) {
	w := newWorld(3, sound)
	want := func(when string, want ...int64) {
		t.Helper()
		for i, part := range want {
			if got := w.held(i, w.hosts[0]); got != part {
				t.Errorf("%s: node %d holds %d, want %d", when, i, got, part)
			}
		}
	}
	w.lead(0)
	w.round(Lease+margin, map[int]int64{0: 300_000})
	w.round(time.Second, map[int]int64{1: channel.WholeCap})
	w.round(renewal-time.Second, map[int]int64{0: 300_000})
	w.round(0, map[int]int64{0: 300_000})
	want("one leader", 300_000, 325_000, 0)
	w.now += time.Second
	w.questions, w.answers = nil, nil
	w.ask(1, channel.Demand{Host: w.hosts[0], Part: channel.WholeCap})
	w.answer(w.questions[0])
	late := w.answers[0]
	if late.shares[0].Part != 650_000 {
		t.Fatalf("granted %+v", late.shares)
	}
	w.lead(2)
	for i := range 2 {
		w.tell(i)
		w.hear(w.telling[i])
		w.hear(w.telling[i])
	}
	w.round(0, map[int]int64{2: channel.WholeCap})
	want("the last node has not told", 300_000, 325_000, 0)
	w.tell(2)
	w.hear(w.telling[2])
	w.round(0, map[int]int64{2: channel.WholeCap})
	want("all have told", 300_000, 325_000, 325_000)
	w.take(late)
	want("an answer of the leader before", 300_000, 325_000, 325_000)
	if _, asks := w.nodes[0].Ask([]channel.Demand{{Host: w.hosts[0], Part: 300_000}}, 1, w.clock(0)); len(asks) != 1 || asks[0].Holds != 300_000 {
		t.Errorf("a node that has told asks %+v at once", asks)
	}
}

// TestKeptOnlyWhileHeld: what a node has held until a while ago it does not hold again by
// the word of a new leader, since another node may have been granted it.
func TestKeptOnlyWhileHeld(t *testing.T) {
	w := newWorld(3, sound)
	w.lead(0)
	w.round(Lease+margin, map[int]int64{1: channel.WholeCap})
	w.now += Lease - time.Second
	w.questions, w.answers = nil, nil
	w.ask(1, channel.Demand{Host: w.hosts[0], Part: channel.WholeCap})
	w.lead(2)
	w.answer(w.questions[0])
	if a := w.answers[0]; !a.kept || len(a.shares) != 1 || a.shares[0].Part != Pool {
		t.Fatalf("answer %+v, want the whole kept", a)
	}
	w.now += time.Second
	w.take(w.answers[0])
	if got := w.held(1, w.hosts[0]); got != 0 {
		t.Errorf("%d is held again", got)
	}
}

// TestAsksSeldom: a node asks again after a while, or when its need has grown by a quarter,
// and about so many hosts at most.
func TestAsksSeldom(t *testing.T) {
	h, now, host := NewHolder(0), time.Unix(1e9, 0), channel.HostID("a")
	asks := func(need int64) int {
		_, asks := h.Ask([]channel.Demand{{Host: host, Part: need}}, 5, now)
		return len(asks)
	}
	if asks(1000) != 1 || asks(1000) != 0 {
		t.Error("does not ask at first, or at once again")
	}
	if now = now.Add(retry); asks(1000) != 1 {
		t.Error("does not ask while there is no answer")
	}
	h.Take(h.number, []Share{{host, 1000}}, false, now)
	if asks(1250) != 0 || asks(1251) != 1 {
		t.Error("wrong as its need grows")
	}
	h.Take(h.number, []Share{{host, 1251}}, false, now)
	if now = now.Add(renewal - 1); asks(1251) != 0 {
		t.Error("asks again too soon")
	}
	if now = now.Add(1); asks(1251) != 1 {
		t.Error("does not ask again")
	}
	var many []channel.Demand
	for i := range 8 {
		many = append(many, channel.Demand{Host: channel.HostID(fmt.Sprint(i)), Part: 1})
	}
	for _, want := range []int{5, 3, 0} {
		number, asks := h.Ask(many, 5, now)
		if len(asks) != want {
			t.Errorf("asks about %d hosts, want %d", len(asks), want)
		}
		for _, ask := range asks {
			h.Take(number, []Share{{ask.Host, 1}}, false, now)
		}
	}
	if ends := h.Lapse(nil, now.Add(Lease+1)); len(ends) != 9 || len(h.hosts) != 0 {
		t.Errorf("%d grants have ended, %d are remembered", len(ends), len(h.hosts))
	}
}

// TestTableForgets: hosts that no node asks about any more are forgotten.
func TestTableForgets(t *testing.T) {
	now := time.Unix(1e9, 0)
	table := NewTable([]string{"a"}, now)
	for i := range 20 * fewHosts {
		now = now.Add(time.Second)
		table.Answer("a", 1, []Ask{{Host: channel.HostID(fmt.Sprint(i)), Need: 1000}}, now)
	}
	if len(table.hosts) > fewHosts {
		t.Errorf("%d hosts are remembered", len(table.hosts))
	}
}
