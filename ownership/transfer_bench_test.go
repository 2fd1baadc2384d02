package ownership

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// BenchmarkTransfer asks what it costs to send the state of 200,000 channels with a
// subscription each, and to take it over, and for how long entries and readers wait.
//
//	go test -run '^$' -bench '^BenchmarkTransfer$' -benchtime 3x ./ownership
//
// The figures are send-MB/s and take-MB/s, of keys and values per second of
// processor; live-MiB, the most memory on the heap beside that of before; apply-ms,
// the longest that an entry took while the state was sent, beside idle-apply-ms, the
// same during a second in which nothing is sent; and gate-ms, how long readers were
// kept out.
func BenchmarkTransfer(b *testing.B) {
	const channels = 200_000
	from := benchReplica(b)
	for at := 0; at < channels; at += 1000 {
		from.run(b, benchCommand(at, 1000))
	}
	stop := make(chan struct{})
	time.AfterFunc(time.Second, func() { close(stop) })
	idle := keepApplying(b, from, stop)
	var m transferMeasure
	for b.Loop() {
		m.round(b, from, channels)
	}
	size := float64(rangeBytes(b, from)) / 1e6
	b.ReportMetric(float64(b.N)*size/m.send, "send-MB/s")
	b.ReportMetric(float64(b.N)*size/m.take, "take-MB/s")
	b.ReportMetric(size, "state-MB")
	b.ReportMetric(float64(m.stream)/1e6, "stream-MB")
	b.ReportMetric(float64(m.live)/(1<<20), "live-MiB")
	b.ReportMetric(m.longest.Seconds()*1000, "apply-ms")
	b.ReportMetric(idle.Seconds()*1000, "idle-apply-ms")
	b.ReportMetric(m.held.Seconds()*1000, "gate-ms")
}

// transferMeasure is what rounds took: seconds of processor, bytes, times.
type transferMeasure struct {
	send, take    float64
	stream        int64
	live          uint64
	longest, held time.Duration
}

func (m *transferMeasure) round(b *testing.B, from *replica, channels uint64) {
	stop, longest := make(chan struct{}), make(chan time.Duration)
	go func() { longest <- keepApplying(b, from, stop) }()
	base, cpu := onHeap(), cpuSeconds(b)
	stream := &spooled{transfer: from.group.fsm.transfer}
	size, err := stream.spool()
	if err != nil {
		b.Fatal(err)
	}
	m.send += cpuSeconds(b) - cpu
	m.stream = size
	m.note(base)
	close(stop)
	m.longest = max(m.longest, <-longest)

	to := benchReplica(b)
	gate := &gateTimer{}
	to.group.fsm.gate = gate
	base, cpu = onHeap(), cpuSeconds(b)
	if err := to.take(stream, 1, func() { m.note(base) }); err != nil {
		b.Fatal(err)
	}
	m.take += cpuSeconds(b) - cpu
	m.held = max(m.held, gate.held)
	if got, _ := to.group.state.Counts(); got < channels {
		b.Fatalf("%d channels arrived", got)
	}
	if err := stream.Close(); err != nil {
		b.Fatal(err)
	}
	to.close(b)
}

// note measures what is on the heap beside what was.
func (m *transferMeasure) note(base uint64) {
	if now := onHeap(); now > base {
		m.live = max(m.live, now-base)
	}
}

func onHeap() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapInuse
}

// keepApplying applies entries, fifty a second, and returns the longest that one took.
func keepApplying(b *testing.B, r *replica, stop chan struct{}) (longest time.Duration) {
	pace := time.NewTicker(20 * time.Millisecond)
	defer pace.Stop()
	for i := 0; ; i++ {
		select {
		case <-pace.C:
			began := time.Now()
			r.run(b, benchCommand(i%1000, 1))
			longest = max(longest, time.Since(began))
		case <-stop:
			return longest
		}
	}
}

// benchCommand subscribes to channels whose IDs are made up, of the sent range.
func benchCommand(from, n int) *wire.Command {
	items := make([]*wire.Subscribe_Item, n)
	for i := range items {
		number := uint64(from + i)
		id := channel.IDOf(fmt.Sprint(number))
		binary.BigEndian.PutUint16(id[:], (sentFrom+uint16(number%(sentTo-sentFrom)))<<4)
		items[i] = item(fmt.Sprintf("http://host%d.example/feed/%d.xml", number%1000, number), webhook)
		items[i].Channel = id[:]
	}
	return subscribeCommand(items...)
}

// rangeBytes are those of the keys and values of the sent range.
func rangeBytes(b *testing.B, r *replica) (n int) {
	b.Helper()
	for key, value := range ofRange(dump(b, r.db)) {
		n += len(key) + len(value)
	}
	return n
}

// gateTimer measures how long readers are kept out.
type gateTimer struct {
	began time.Time
	held  time.Duration
}

func (g *gateTimer) Lock()   { g.began = time.Now() }
func (g *gateTimer) Unlock() { g.held = time.Since(g.began) }

// benchReplica is a replica of the sent range on the real disk.
func benchReplica(b *testing.B) *replica {
	b.Helper()
	r, err := openReplicaIn(b, b.TempDir(), vfs.Default, "cluster")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { r.close(b) })
	r.group.fsm.transfer.pieces = receivedFile
	return r
}
