package ownership

import (
	"errors"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/seed-91e7e7c1/corona/channel"
)

// deafFollower is three nodes, of which one leads a range, and one hears nothing of it.
type deafFollower struct {
	*town
	bucket              channel.Bucket
	leader, other, deaf *townNode
	heal                func()
}

func newDeafFollower(t *testing.T, seed uint64) *deafFollower {
	w := newTown(t, 3, seed, nil)
	wanted := wish("http://example.com/first", "", stream)
	w.subscribe(w.nodes[0], wanted)
	d := &deafFollower{town: w, bucket: wanted.Channel.Bucket()}
	preferred := w.nodes[0].store.of(d.bucket).replicas()[0].Node
	for _, n := range w.nodes {
		switch {
		case n.store.net.self() == preferred:
			d.leader = n // it keeps the range
		case d.other == nil:
			d.other = n
		default:
			d.deaf = n
		}
	}
	w.lead(d.leader, d.bucket)
	d.heal = d.deaf.deafen()
	d.subscribe(d.leader, wanted) // which it does not hear of
	return d
}

// A leader that could not hand over, and has lost leadership meanwhile, serves when it
// leads again: raft is not left "in transfer" (hashicorp/raft#696).
func TestFailedHandoverIsOver(t *testing.T) {
	t.Parallel()
	d := newDeafFollower(t, 41)
	for range 3 {
		if err := d.leader.handOver(d.deaf, d.bucket); err == nil {
			t.Fatal("leadership was handed to a node that hears nothing")
		}
	}
	d.net.Partition([]string{d.leader.name}, []string{d.other.name, d.deaf.name})
	eventually(t, "the leader is none any more", func() error {
		if d.leader.store.of(d.bucket).local().raft.State() == raft.Leader {
			return errors.New("it leads")
		}
		return nil
	})
	d.net.HealAll()
	d.lead(d.leader, d.bucket)
	d.subscribe(d.leader, wish("http://example.com/first", "", stream))
}

// A replica that was asked to lead in vain is not asked again before it has taken entries,
// and then it leads.
func TestHandoverIsTriedAgain(t *testing.T) {
	t.Parallel()
	d := newDeafFollower(t, 42)
	if err := d.leader.handOver(d.deaf, d.bucket); err == nil || errors.Is(err, errTooSoon) || errors.Is(err, errLags) {
		t.Fatalf("the first time: %v", err)
	}
	if err := d.leader.handOver(d.deaf, d.bucket); !errors.Is(err, errTooSoon) {
		t.Errorf("the second time: %v", err)
	}
	d.heal()
	d.lead(d.deaf, d.bucket)
}

// A replica that lacks much of the log is not asked to lead: writes would wait for it.
func TestReplicaThatLagsDoesNotLead(t *testing.T) {
	t.Parallel()
	d := newDeafFollower(t, 43)
	local := d.leader.store.of(d.bucket).local()
	server, _ := d.leader.store.of(d.bucket).server(string(d.deaf.store.meta.raftID))
	for local.raft.LastIndex() <= local.seat.progress(local.id, server.ID).Last+nearlyAll {
		d.subscribe(d.leader, wish("http://example.com/first", "", stream))
	}
	if err := d.leader.handOver(d.deaf, d.bucket); !errors.Is(err, errLags) {
		t.Errorf("handed over to a replica that lags: %v", err)
	}
	d.heal()
	d.lead(d.deaf, d.bucket)
}
