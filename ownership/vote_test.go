package ownership

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
)

// wishIn is a wish for a channel of a range.
func wishIn(r channel.Range) NewSubscription {
	for n := 0; ; n++ {
		x := wish(fmt.Sprintf("http://example.com/in/%d", n), "", webhook)
		if b := x.Channel.Bucket(); r.From <= b && b <= r.To {
			return x
		}
	}
}

// named returns the node of a name.
func (w *town) named(name string) *townNode {
	return w.nodes[slices.IndexFunc(w.nodes, func(n *townNode) bool { return n.name == name })]
}

// TestWipedIsAnother: a node that acknowledged a subscription with the leader alone loses it, with
// all that it had or with its log. The leader being gone, it must not elect, with the third that
// never had it, a leader without it.
func TestWipedIsAnother(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		lose func(n *townNode) // while it is stopped
	}{
		{"wiped", (*townNode).wipe},
		{"log gone", func(n *townNode) { n.must(n.disk.RemoveAll(n.disk.PathJoin(n.dir, "log"))) }},
		{"log cut", (*townNode).cutLog},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			testLostVote(t, test.lose)
		})
	}
}

func testLostVote(t *testing.T, lose func(n *townNode)) {
	ctx := context.Background()
	w := newTown(t, 5, 31, nil) // three others keep the meta group going
	table := w.nodes[0].store.known.Load().Ranges[0]
	r := w.nodes[0].store.Table()[0]
	var leader *townNode
	eventually(t, "a leader of the range", func() error {
		if leader = w.leading(r.From); leader == nil {
			return errors.New("none")
		}
		return nil
	})
	var followers []*townNode
	for _, id := range table.Replicas {
		if n := w.named(raftnet.NodeName(id)); n != leader {
			followers = append(followers, n)
		}
	}
	loses, behind := followers[0], followers[1]
	between := func(a, b *townNode, do func(from, to string)) { do(a.name, b.name); do(b.name, a.name) }
	between(behind, leader, w.net.Cut)
	between(behind, loses, w.net.Cut)
	made := w.subscribe(leader, wishIn(r))
	loses.stop()
	leader.stop()
	lose(loses)
	between(behind, loses, w.net.Heal)
	if err := loses.open(0); err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); time.Since(begun) < 8*time.Second; {
		call, cancel := context.WithTimeout(ctx, time.Second)
		_, err := behind.store.View().Subscription(call, made.ID)
		cancel()
		if !errors.Is(err, ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("the subscription that was acknowledged by the leader and the node that lost it: %v, want %v", err, ErrUnavailable)
		}
	}
	between(behind, leader, w.net.Heal)
	if err := leader.open(0); err != nil {
		t.Fatal(err)
	}
	for _, n := range w.nodes {
		n.shows(map[string]channel.ID{made.ID: made.Channel})
	}
}

// wipe takes all that the node has: the meta group's store is on the machine's disk.
func (n *townNode) wipe() {
	n.disk = vfs.NewCrashableMem()
	n.must(os.RemoveAll(n.dir))
}

// cutLog cuts the newest file of the node's log to half of what it has.
func (n *townNode) cutLog() {
	dir := n.disk.PathJoin(n.dir, "log")
	names, err := n.disk.List(dir)
	n.must(err)
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasSuffix(name, ".log") })
	path := n.disk.PathJoin(dir, slices.Max(names))
	content := n.content(path)
	n.write(path, content[:used(content)/2])
}

// TestFillingHasNoVote: while a replica cannot be filled since its node is cut off, one of
// the others may be gone, and writes go on.
func TestFillingHasNoVote(t *testing.T) {
	t.Parallel()
	w := newTown(t, 3, 32, nil)
	fresh := w.add("node-3")
	if err := fresh.open(0); err != nil {
		t.Fatal(err)
	}
	var filled *group
	eventually(t, "a replica that is being filled", func() error {
		for _, n := range w.nodes[:3] {
			for _, g := range n.store.groups() {
				servers := g.raft.GetConfiguration().Configuration().Servers
				if g.serving.Load() && slices.ContainsFunc(servers, func(s raft.Server) bool { return raftnet.NodeName(string(s.ID)) == fresh.name }) {
					filled = g
					return nil
				}
			}
		}
		return errors.New("none")
	})
	fresh.each(w.net.Cut)
	var gone, left *townNode
	for _, n := range w.nodes[:3] {
		if n.store.of(filled.all.From).local() != filled {
			gone, left = n, gone
		}
	}
	if left == nil {
		t.Fatal("the range has two replicas alone")
	}
	gone.stop()
	r := left.store.of(filled.all.From).Range
	eventuallyWithin(t, 15*time.Second, "writes stop with one node gone", func() error {
		ctx, cancel := soon()
		defer cancel()
		return left.store.Subscribe(ctx, []NewSubscription{wishIn(r)})[0].Err
	})
}
