package overlay

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/channel"
)

// The wedge of any width is the head of one order, whatever order nodes are
// listed in, and a node that leaves moves no node past another.
func TestPollersAreOneOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := nodeIDs(rapid.IntRange(0, 99).Draw(t, "seed"), rapid.IntRange(0, 60).Draw(t, "nodes"))
		id := channelIDOf(2, rapid.IntRange(0, 1_000_000).Draw(t, "channel"))
		order := idsAt(nodes, Pollers(id, nodes, len(nodes)))
		if len(order) != len(nodes) {
			t.Fatalf("%d of %d nodes", len(order), len(nodes))
		}
		n := rapid.IntRange(-1, len(nodes)+3).Draw(t, "width")
		want := order[:min(max(n, 0), len(order))]
		shuffled := rapid.Permutation(nodes).Draw(t, "shuffled")
		if got := idsAt(shuffled, Pollers(id, shuffled, n)); !slices.Equal(got, want) {
			t.Fatalf("width %d: %v, want %v", n, got, want)
		}
		if len(nodes) == 0 {
			return
		}
		gone := order[rapid.IntRange(0, len(order)-1).Draw(t, "gone")]
		left := slices.DeleteFunc(slices.Clone(nodes), func(x channel.ID) bool { return x == gone })
		order = slices.DeleteFunc(order, func(x channel.ID) bool { return x == gone })
		if got := idsAt(left, Pollers(id, left, len(left))); !slices.Equal(got, order) {
			t.Fatalf("without %v: %v, want %v", gone, got, order)
		}
	})
}

// Nodes that a channel ranks alike, whose IDs differ in bytes without a score, are in the
// order of their IDs, whatever order they are listed in.
func TestPollersOfEqualScore(t *testing.T) {
	nodes := nodeIDs(1, 1)
	twin := nodes[0]
	twin[0]++
	id := channelIDOf(2, 1)
	if score(id, nodes[0]) != score(id, twin) {
		t.Fatal("scores differ")
	}
	for _, listed := range [][]channel.ID{{nodes[0], twin}, {twin, nodes[0]}} {
		if got := idsAt(listed, Pollers(id, listed, 1)); got[0] != slices.MinFunc(listed, channel.ID.Compare) {
			t.Errorf("of %v the first is %v", listed, got)
		}
	}
}

func idsAt(nodes []channel.ID, indices []int) []channel.ID {
	ids := make([]channel.ID, len(indices))
	for i, index := range indices {
		ids[i] = nodes[index]
	}
	return ids
}

// With 100 nodes the busiest has little more than its share, at width 1 and at
// width 5: balls into bins, mean plus a few standard deviations.
func TestPollersAreBalanced(t *testing.T) {
	const channels = 20_000
	nodes := nodeIDs(5, 100)
	for _, width := range []int{1, 5} {
		polls := make([]int, len(nodes))
		for n := range channels {
			for _, node := range Pollers(channelIDOf(3, n), nodes, width) {
				polls[node]++
			}
		}
		mean := float64(channels * width / len(nodes))
		most, least := float64(slices.Max(polls)), float64(slices.Min(polls))
		if spread := 5 * math.Sqrt(mean); most > mean+spread || least < mean-spread {
			t.Errorf("width %d: from %v to %v polls, mean %v", width, least, most, mean)
		}
	}
}

func TestReseat(t *testing.T) {
	for _, tc := range []struct{ before, now, want string }{
		{"", "abc", "abc"},
		{"abc", "abc", "abc"},
		{"abc", "acd", "adc"},  // b left, d takes its rank
		{"abc", "cab", "abc"},  // another order of the list changes no rank
		{"abcd", "dx", "dx"},   // d's rank is gone
		{"abcd", "xcd", "xdc"}, // rank 3 is gone: d and x take the free ones, in now's order
		{"ab", "", ""},
	} {
		if got := string(Reseat([]byte(tc.before), []byte(tc.now))); got != tc.want {
			t.Errorf("%s → %s: %s, want %s", tc.before, tc.now, got, tc.want)
		}
	}
}

// Reseat permutes now, and moves no node whose rank still exists.
func TestReseatKeepsRanks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) []int {
			return rapid.SliceOfNDistinct(rapid.IntRange(0, 20), 0, 12, rapid.ID[int]).Draw(t, name)
		}
		before, now := draw("before"), draw("now")
		seats := Reseat(before, now)
		if fmt.Sprint(slices.Sorted(slices.Values(seats))) != fmt.Sprint(slices.Sorted(slices.Values(now))) {
			t.Fatalf("%v is not a permutation of %v", seats, now)
		}
		for rank, node := range before {
			if rank < len(now) && slices.Contains(now, node) && seats[rank] != node {
				t.Fatalf("%v → %v: %v moved %d", before, now, seats, node)
			}
		}
	})
}

func nodeIDs(seed, n int) []channel.ID {
	ids := make([]channel.ID, n)
	for i := range ids {
		ids[i] = NodeID(fmt.Sprintf("node-%d-%d", seed, i))
	}
	return ids
}

func channelIDOf(seed, n int) channel.ID {
	return channel.IDOf(fmt.Sprintf("http://example.com/%d/%d", seed, n))
}
