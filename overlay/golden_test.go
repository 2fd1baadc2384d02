package overlay

import (
	"fmt"
	"slices"
	"testing"

	"github.com/seed-91e7e7c1/corona/channel"
)

// Every node ranks every other in the same order, of whatever release: the order of
// eight nodes for five channels is fixed. Whether a change of the hash is meant or
// not, it moves all wedges of a running cluster.
func TestRendezvousOrderIsFixed(t *testing.T) {
	var nodes []channel.ID
	for n := range 8 {
		nodes = append(nodes, NodeID(fmt.Sprintf("node-%d.example.net:4000", n)))
	}
	for url, want := range map[string][]int{
		"https://example.com/":           {4, 3, 6, 5, 0, 2, 7, 1},
		"https://example.com/feed.xml":   {5, 4, 7, 0, 6, 3, 1, 2},
		"https://example.org/news?p=2":   {0, 3, 6, 2, 4, 1, 7, 5},
		"https://xn--bcher-kva.example/": {0, 6, 5, 2, 3, 7, 4, 1},
		"http://example.net:8080/a/b/c":  {6, 3, 4, 1, 0, 7, 2, 5},
	} {
		if got := Pollers(channel.IDOf(url), nodes, len(nodes)); !slices.Equal(got, want) {
			t.Errorf("%s ranks the nodes %v, want %v", url, got, want)
		}
	}
}

// The scores behind the order, to the bit: a mixing round left out, or a shift by one
// bit more, gives other ones.
func TestRendezvousScores(t *testing.T) {
	counted := func(from byte) (id channel.ID) {
		for i := range id {
			id[i] = from + byte(i)
		}
		return id
	}
	for _, tc := range []struct {
		id, node channel.ID
		want     uint64
	}{
		{channel.ID{}, channel.ID{}, 0},
		{counted(0), counted(100), 0xb236f49113feb1c8},
		{counted(100), counted(0), 0x30a2c7c6668950e8},
		{counted(0), counted(0x80), 0x978436fdf5048941},
		{channel.IDOf("https://example.com/"), NodeID("a"), 0x235606d8a06b1819},
	} {
		if got := score(tc.id, tc.node); got != tc.want {
			t.Errorf("score(%x, %x) = %#x, want %#x", tc.id, tc.node, got, tc.want)
		}
	}
}
