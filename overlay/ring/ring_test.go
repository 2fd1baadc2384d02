package ring

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// ringOf returns n nodes whose IDs follow from a seed.
func ringOf(seed, n int) *Ring {
	ids := make([]channel.ID, n)
	for i := range ids {
		ids[i] = overlay.NodeID(fmt.Sprintf("node-%d-%d", seed, i))
	}
	return New(ids)
}

func channelIDOf(seed, n int) channel.ID {
	return channel.IDOf(fmt.Sprintf("http://example.com/%d/%d", seed, n))
}

func TestDigits(t *testing.T) {
	id, err := channel.ParseID("0123456789abcdeffedcba98765432100f1e2d3c")
	if err != nil {
		t.Fatal(err)
	}
	for i, hex := range id.String() {
		if got := Digit(id, i); fmt.Sprintf("%x", got) != string(hex) {
			t.Errorf("digit %d is %x, want %c", i, got, hex)
		}
		other := withDigit(id, i, 15-Digit(id, i))
		if got := SharedDigits(id, other); got != i {
			t.Errorf("%v and %v share %d digits, want %d", id, other, got, i)
		}
	}
	if SharedDigits(id, id) != Digits {
		t.Errorf("an ID shares %d digits with itself", SharedDigits(id, id))
	}
}

// Wedges are exactly the nodes that share the digits; the owner is the closest
// by the definition, in arithmetic of any width.
func TestRingAgainstDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := ringOf(rapid.IntRange(0, 1000).Draw(t, "seed"), rapid.IntRange(1, 300).Draw(t, "nodes"))
		id := channelIDOf(1, rapid.IntRange(0, 1_000_000).Draw(t, "channel"))
		for level := range 5 {
			from, to := r.Wedge(id, level)
			for node := range r.Len() {
				if in := SharedDigits(r.ID(node), id) >= level; in != (from <= node && node < to) {
					t.Fatalf("level %d of %v: node %v, wedge %d to %d", level, id, r.ID(node), from, to)
				}
			}
		}
		owner := r.Owner(id)
		for node := range r.Len() {
			if away(r.ID(node), id).Cmp(away(r.ID(owner), id)) < 0 {
				t.Fatalf("owner %v of %v, but %v is closer", r.ID(owner), id, r.ID(node))
			}
		}
	})
}

// away is the distance around the ring.
func away(a, b channel.ID) *big.Int {
	size := new(big.Int).Lsh(big.NewInt(1), 8*channel.IDLen)
	d := new(big.Int).Sub(new(big.Int).SetBytes(a[:]), new(big.Int).SetBytes(b[:]))
	d.Mod(d, size)
	if back := new(big.Int).Sub(size, d); back.Cmp(d) < 0 {
		return back
	}
	return d
}

// The paper's system, 1,024 nodes: owners poll alone at level 3, and a channel
// is an orphan when none of 1,024 nodes falls into its wedge of 1/256 of the
// space, (1−1/256)^1024 = 1.8 % of all.
func TestOrphansAsInThePaper(t *testing.T) {
	const seeds, channels = 40, 2000
	var orphans, empty float64
	for seed := range seeds {
		r := ringOf(seed, 1024)
		if r.Top() != 3 {
			t.Fatalf("owners alone are level %d, want 3", r.Top())
		}
		for n := range channels {
			if r.Orphan(channelIDOf(seed, n)) {
				orphans++
			}
		}
		for cell := range 256 {
			if from, to := r.Wedge(channel.ID{byte(cell)}, 2); from == to {
				empty++
			}
		}
	}
	want := math.Pow(1-1.0/256, 1024)
	if got := orphans / seeds / channels; math.Abs(got/want-1) > 0.2 {
		t.Errorf("orphans: %.4f of channels, want %.4f", got, want)
	}
	if got := empty / seeds / 256; math.Abs(got/want-1) > 0.2 {
		t.Errorf("empty wedges: %.4f, want %.4f", got, want)
	}
}

// With one level there is nothing to be orphaned by; a node alone owns all.
func TestSmallRings(t *testing.T) {
	for n, top := range map[int]int{1: 0, 2: 1, 16: 1, 17: 2, 256: 2, 257: 3} {
		r := ringOf(1, n)
		if r.Top() != top {
			t.Errorf("%d nodes: owners alone are level %d, want %d", n, r.Top(), top)
		}
		if top < 2 && slices.ContainsFunc([]int{1, 2, 3, 4}, func(i int) bool { return r.Orphan(channelIDOf(1, i)) }) {
			t.Errorf("%d nodes have orphans", n)
		}
	}
	if owner := New(nil).Owner(channel.ID{}); owner != None {
		t.Errorf("no nodes: owner %d", owner)
	}
}

func TestRowsHoldTheirPrefix(t *testing.T) {
	r := ringOf(3, 500)
	for node := range r.Len() {
		for row := range r.Rows(node) + 1 {
			contacts := r.Row(node, row)
			for digit, contact := range contacts {
				from, to := r.Wedge(withDigit(r.ID(node), row, digit), row+1)
				own := digit == Digit(r.ID(node), row)
				if contact == None {
					if !own && from < to {
						t.Fatalf("node %d row %d column %x is empty, %d nodes could fill it", node, row, digit, to-from)
					}
					continue
				}
				if own || contact < from || contact >= to {
					t.Fatalf("node %d row %d column %x: contact %d of %d to %d", node, row, digit, contact, from, to)
				}
			}
		}
		if last := r.Row(node, r.Rows(node)); slices.Max(last[:]) != None {
			t.Fatalf("node %d has contacts beyond its rows: %v", node, last)
		}
	}
}

// Each node in the wedge is told exactly once, by a node that has been told; no node
// outside is told.
func TestTreeReachesTheWedgeOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := ringOf(rapid.IntRange(0, 1000).Draw(t, "seed"), rapid.IntRange(1, 400).Draw(t, "nodes"))
		root := rapid.IntRange(0, r.Len()-1).Draw(t, "root")
		level := rapid.IntRange(0, 3).Draw(t, "level")
		depth := map[int]int{root: 0}
		for hop := range r.Tree(root, level) {
			if _, again := depth[hop.To]; again {
				t.Fatalf("node %d is told twice", hop.To)
			}
			if known, ok := depth[hop.From]; !ok || known+1 != hop.Depth {
				t.Fatalf("%+v, but its sender has depth %d, %v", hop, known, ok)
			}
			depth[hop.To] = hop.Depth
		}
		from, to := r.Wedge(r.ID(root), level)
		if len(depth) != to-from {
			t.Fatalf("%d told, wedge of %d", len(depth), to-from)
		}
		for node := range depth {
			if node < from || node >= to {
				t.Fatalf("node %d is outside %d to %d", node, from, to)
			}
		}
	})
}

func TestTreeCanBeLeft(t *testing.T) {
	hops := 0
	for range ringOf(1, 300).Tree(7, 0) {
		if hops++; hops == 5 {
			break
		}
	}
	if hops != 5 {
		t.Errorf("%d hops", hops)
	}
}
