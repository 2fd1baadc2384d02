package primary

import (
	"hash/maphash"
	"math"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// hosts numbers the hosts of polled channels that have a cap. The others cost
// nothing.
type hosts struct {
	interval time.Duration
	gap      func(host string) time.Duration
	top      float64                       // most polls of one channel per interval by one node
	pollers  int                           // nodes that share each host's cap, and poll one channel at most
	parts    func([]channel.Led) []float64 // Config.HostParts
	seed     maphash.Seed
	numbers  map[uint64]int32 // by hash of the name, which no two hosts share but by a chance of 2^-64
	list     []host
	free     []int32
}

type host struct {
	key      uint64
	id       channel.ID // with parts
	channels int32      // polled
	column   int32      // its number in the optimiser's columns; noHost: its cap cannot bind
	part     float32    // of all channels of the host, as far as the last solve knew; 0: it did not
	cap      float64    // planned polls per interval of all nodes, were nothing of it kept back
}

const noHost = -1

// plannedPart is the part of what a host's gap allows that is planned for: the rest is
// for first polls, retries and redirects.
const plannedPart = 0.95

func newHosts(c Config, top float64) hosts {
	return hosts{interval: c.Interval, gap: c.HostGap, top: top, pollers: c.pollers(), parts: c.HostParts, seed: maphash.MakeSeed(), numbers: make(map[uint64]int32)}
}

// join counts a channel at a host and returns the host's number.
func (h *hosts) join(name string) int32 {
	if h.gap == nil {
		return noHost
	}
	key := maphash.String(h.seed, name)
	if number, known := h.numbers[key]; known {
		h.list[number].channels++
		return number
	}
	gap := h.gap(name)
	if gap <= 0 {
		return noHost
	}
	one := host{key: key, channels: 1, column: noHost, cap: plannedPart * float64(h.interval) / float64(gap)}
	if h.parts != nil {
		one.id = channel.HostID(name)
	}
	return h.add(one)
}

func (h *hosts) add(one host) int32 {
	number := int32(len(h.list))
	if n := len(h.free); n > 0 {
		number, h.free = h.free[n-1], h.free[:n-1]
		h.list[number] = one
	} else {
		h.list = append(h.list, one)
	}
	h.numbers[one.key] = number
	return number
}

// leave takes a channel from its host. A host that is in the columns stays until
// the columns are rebuilt.
func (h *hosts) leave(number int32) {
	if number == noHost {
		return
	}
	one := &h.list[number]
	one.channels--
	h.drop(number)
}

// drop forgets a host without channels.
func (h *hosts) drop(number int32) {
	one := &h.list[number]
	if one.channels > 0 || one.column != noHost {
		return
	}
	delete(h.numbers, one.key)
	h.free = append(h.free, number)
}

// capOf returns this node's part of a host's cap, in polls per interval: that of the host's
// channels, or, where that is not known, as much as any node's. Of a cap that nodes
// share, what no node is granted is not planned for.
func (h *hosts) capOf(number int32) float64 {
	one := &h.list[number]
	if h.pollers == 1 {
		return one.cap
	}
	part := float64(one.part)
	if part == 0 {
		part = 1 / float64(h.pollers)
	}
	return one.cap * part * (channel.WholeCap - channel.KeptBack) / channel.WholeCap
}

// divide records which parts of hosts' channels are this node's, of those whose caps
// could be passed.
func (h *hosts) divide() {
	if h.parts == nil || h.pollers == 1 {
		return
	}
	var numbers []int32
	var led []channel.Led
	for i := range h.list {
		if one := &h.list[i]; h.mayBind(int32(i)) {
			numbers = append(numbers, int32(i))
			led = append(led, channel.Led{Host: one.id, Channels: int64(one.channels)})
		}
	}
	for i, part := range h.parts(led) {
		h.list[numbers[i]].part = float32(part)
	}
}

// mayBind says whether a host's cap could be passed.
func (h *hosts) mayBind(number int32) bool {
	return number != noHost && float64(h.list[number].channels)*h.top*float64(h.pollers) > h.capOf(number)
}

// uncounted says whether a host's cap could be passed and the columns know nothing
// of it.
func (h *hosts) uncounted(number int32) bool {
	return h.mayBind(number) && h.list[number].column == noHost
}

// count gives the hosts whose caps could be passed their numbers in the columns,
// and returns the caps.
func (h *hosts) count() (caps []float64) {
	h.divide()
	for i := range h.list {
		one := &h.list[i]
		counted := one.column != noHost
		one.column = noHost
		switch {
		case h.mayBind(int32(i)):
			one.column = int32(len(caps))
			caps = append(caps, h.capOf(int32(i)))
		case counted:
			h.drop(int32(i))
		}
	}
	return caps
}

// column returns a host's number in the columns.
func (h *hosts) column(number int32) int32 {
	if number == noHost {
		return noHost
	}
	return h.list[number].column
}

// intervals returns how many lie between two polls of each channel of a host when all
// get as much, 1 where there is room for that.
func (h *hosts) intervals(number int32) float64 {
	if number == noHost {
		return 1
	}
	return math.Ceil(float64(h.list[number].channels) / h.capOf(number))
}
