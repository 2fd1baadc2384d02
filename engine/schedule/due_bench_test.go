package schedule

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// dueStructures are the alternatives, each for so many items that come once in a span.
func dueStructures() map[string]func(items int, span, now int64) dueStructure {
	return map[string]func(int, int64, int64) dueStructure{
		"heap4": func(int, int64, int64) dueStructure { return &fourAry{} },
		"heap2": func(int, int64, int64) dueStructure { return &binaryHeap{} },
		"lazy4": func(int, int64, int64) dueStructure { return &lazy{} },
		"wheel": func(_ int, _, now int64) dueStructure { return &wheel{tick: now / wheelTick} },
		"calendar": func(items int, span, now int64) dueStructure {
			c := newCalendar(items, span)
			c.today = now / c.width
			return c
		},
	}
}

// dueLoad is what becomes of channels that are taken: most come an interval later,
// on their slot; some back off; now and then one is planned again while it waits.
type dueLoad struct {
	random   *rand.Rand
	items    []*dueItem
	interval int64
}

// later returns when an item that was taken is due again: a tenth of all channels
// fail, and are asked each fourth to 48th interval.
func (l *dueLoad) later(t *dueItem, now int64) int64 {
	due := t.due + l.interval
	if l.random.Uint32()%64 == 0 { // so many of those that come up: the failing ones come seldom
		due += int64(3+l.random.Uint32()%45) * l.interval
	}
	return max(due, now+1)
}

// BenchmarkDue asks which structure should hold the due times of a million
// channels: even phases over half an hour, a share of them backed off by 4 to 48
// intervals; beside each fifth poll another channel is planned again, by an order or
// since its host rests.
//
//	go test -bench '^BenchmarkDue$' -run '^$' -benchtime 2000000x -count 5 ./engine/schedule
//
// cpu-ns/op counts: the thread's processor time for one poll and a fifth of a plan,
// whatever else the machine does. max-µs is the longest single step, of processor
// time too: others wait for the lock so long.
func BenchmarkDue(b *testing.B) {
	for _, name := range []string{"heap2", "heap4", "lazy4", "wheel", "calendar"} {
		b.Run(name, func(b *testing.B) { benchmarkDue(b, dueStructures()[name]) })
	}
}

func benchmarkDue(b *testing.B, make func(items int, span, now int64) dueStructure) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const now = int64(1e18)
	l := &dueLoad{random: rand.New(rand.NewPCG(1, 2)), interval: int64(30 * time.Minute), items: dueItems(million)}
	before := heapBytes()
	s := make(million, l.interval, now)
	for _, t := range l.items {
		s.set(t, now+l.random.Int64N(l.interval))
	}
	taken := heapBytes() - before
	b.ResetTimer()
	begun := threadTime()
	for i := range b.N {
		l.step(s, i)
	}
	spent := threadTime() - begun
	b.StopTimer()
	longest := time.Duration(0)
	for i := range b.N {
		begun := threadTime()
		l.step(s, i)
		longest = max(longest, threadTime()-begun)
	}
	b.ReportMetric(float64(taken)/million, "bytes/item")
	b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(longest.Microseconds()), "max-µs")
}

// step is one poll, and what happens beside it.
func (l *dueLoad) step(s dueStructure, i int) {
	t := s.pop(never / 2)
	now := t.due
	s.set(t, l.later(t, now))
	if i%5 == 0 {
		l.replan(s, now)
	}
}

// replan plans any of the channels again, within the next interval.
func (l *dueLoad) replan(s dueStructure, now int64) {
	other := l.items[l.random.IntN(len(l.items))]
	s.set(other, now+1+l.random.Int64N(l.interval))
}

func dueItems(n int) []*dueItem {
	items := make([]*dueItem, n)
	for i := range items {
		items[i] = &dueItem{pos: -1}
	}
	return items
}

// The alternatives give each item when it is due, and none twice: else their
// figures would say nothing.
func TestDueAlternatives(t *testing.T) {
	for name, make := range dueStructures() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { checkDue(t, make(64, 1e9, 0)) })
		})
	}
}

func checkDue(t *rapid.T, s dueStructure) {
	items, due, now := dueItems(20), map[*dueItem]int64{}, int64(0)
	t.Repeat(map[string]func(*rapid.T){
		"set": func(t *rapid.T) {
			item := rapid.SampledFrom(items).Draw(t, "item")
			due[item] = now + rapid.Int64Range(1, rapid.SampledFrom([]int64{1e6, 1e9, 1e13}).Draw(t, "range")).Draw(t, "due")
			s.set(item, due[item])
		},
		"remove": func(t *rapid.T) {
			item := rapid.SampledFrom(items).Draw(t, "item")
			delete(due, item)
			s.remove(item)
		},
		"pass": func(t *rapid.T) {
			now += rapid.Int64Range(0, 3e8).Draw(t, "time")
			for item := s.pop(now); item != nil; item = s.pop(now) {
				if at, in := due[item]; !in || at > now {
					t.Fatalf("at %d an item is given that is due at %d (%v)", now, at, in)
				}
				delete(due, item)
			}
			for _, at := range due {
				if at+s.granularity() < now {
					t.Fatalf("at %d an item that was due at %d is still in", now, at)
				}
			}
		},
		"": func(t *rapid.T) {
			in := 0
			s.each(func(item *dueItem) {
				if _, ok := due[item]; ok {
					in++
				}
			})
			if in != len(due) {
				t.Fatalf("%d items are in, want %d", in, len(due))
			}
			first := int64(never)
			for _, at := range due {
				first = min(first, at)
			}
			if next := s.next(); next-s.granularity() > first {
				t.Fatalf("next %d, first %d", next, first)
			}
		},
	})
}

// BenchmarkDueHeap asks what the due structure alone costs at a million channels:
// take the earliest, put it back an interval later.
//
//	go test -bench '^BenchmarkDueHeap$' -run '^$' ./engine/schedule
func BenchmarkDueHeap(b *testing.B) {
	s := fillShards(1)[0]
	b.ReportAllocs()
	for b.Loop() {
		due, t, _ := s.due.min()
		s.due.remove(t)
		s.due.set(t, due+int64(30*time.Minute))
	}
}

func heapBytes() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
