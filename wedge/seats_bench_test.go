package wedge

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/seed-91e7e7c1/corona/channel"
)

// What does an owner hold for each channel and poller of it, among a hundred nodes, where
// nearly every wedge is another?
//
//	go test -run '^$' -bench Seats -benchtime 1x ./wedge
func BenchmarkSeats(b *testing.B) {
	const channels, width, nodes = 50_000, 9, 100
	members := make([]Member, nodes)
	for i := range members {
		members[i] = Member{ID: fmt.Sprintf("%032x", i), Egress: fmt.Sprintf("node-%d", i)}
	}
	r := newRoster(members)
	for b.Loop() {
		before := heapInUse()
		s := newSeats()
		for i := range channels {
			id := channel.IDOf(fmt.Sprint(i))
			s.set(id, r.choose(id, width))
		}
		b.ReportMetric(float64(heapInUse()-before)/channels/width, "B/seat")
		runtime.KeepAlive(s)
	}
}

func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
