package ownership

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/planted"
	"github.com/seed-91e7e7c1/corona/ownership/internal/placement"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
)

// configurer asks the leaders of ranges for the configurations that raft has of them, has them
// change these, and answers for the ranges that this node leads.
type configurer struct {
	*leadership
	views Call[struct{}, placement.View]
	steps Call[placement.Step, struct{}]
}

// configureWithin bounds a change of a range's configuration.
const configureWithin = 3 * time.Second

func newConfigurer(leadership *leadership) *configurer {
	c := &configurer{leadership: leadership}
	c.views = newCall(c.router, "configuration", func(_ context.Context, r channel.Range, _ struct{}) (placement.View, error) {
		return c.view(c.of(r.From))
	})
	c.steps = newCall(c.router, "configure", func(ctx context.Context, r channel.Range, step placement.Step) (struct{}, error) {
		return struct{}{}, c.configure(ctx, c.of(r.From), step)
	}).Once()
	return c
}

// nearlyCaught is how many entries a replica may lack that has caught up.
const nearlyCaught = 64

var errChanging = errors.New("the configuration is being changed")

// view describes the configuration of a range that this node leads.
func (c *configurer) view(way *route) (placement.View, error) {
	g := way.serving()
	if g == nil {
		return placement.View{}, errElsewhere
	}
	view, err := g.seat.view(g.raft, &g.fsm.configured, g.id, &g.filling)
	if err != nil {
		return placement.View{}, fmt.Errorf("range %d: %w: %w", g.id, ErrUnavailable, err)
	}
	channels, subscriptions := g.state.Counts()
	view.Load = float64(channels + subscriptions)
	return view, nil
}

// view describes the configuration of a group that this replica leads, which is committed.
func (s seat) view(r *raft.Raft, configured *configured, group uint32, filling *filling) (placement.View, error) {
	committed, err := configured.committed()
	if err != nil {
		return placement.View{}, fmt.Errorf("read configuration: %w", err)
	}
	latest := r.GetConfiguration()
	if err := latest.Error(); err != nil {
		return placement.View{}, fmt.Errorf("read configuration: %w", err)
	}
	if !slices.Equal(committed.servers, latest.Configuration().Servers) {
		return placement.View{}, errChanging
	}
	view := placement.View{Index: committed.index, Leader: string(s.id)}
	for _, server := range committed.servers {
		voter := server.Suffrage == raft.Voter
		progress := s.progress(group, server.ID)
		near := !voter && progress.Taken > 0 && progress.Last+nearlyCaught >= r.LastIndex()
		view.Servers = append(view.Servers, placement.Server{
			Replica: placement.Replica{ID: string(server.ID), Node: raftnet.NodeID(string(server.ID))},
			Voter:   voter, Caught: filling.caught(server.ID, near),
		})
	}
	return view, nil
}

// filling knows since when nonvoters have had nearly all of the log, as far as the leader has
// looked.
type filling struct {
	sync.Mutex
	since map[raft.ServerID]time.Time
}

// caught notes whether a replica has nearly all now, and returns for how long it has.
func (f *filling) caught(id raft.ServerID, near bool) time.Duration {
	f.Lock()
	defer f.Unlock()
	if !near {
		delete(f.since, id)
		return 0
	}
	if f.since == nil {
		f.since = make(map[raft.ServerID]time.Time)
	}
	since, known := f.since[id]
	if !known {
		since = time.Now()
		f.since[id] = since
	}
	return time.Since(since)
}

// configure changes the configuration of a range that this node leads, if it still is the
// one that the step was made for.
func (c *configurer) configure(ctx context.Context, way *route, step placement.Step) error {
	g := way.serving()
	if g == nil {
		return errElsewhere
	}
	replica, err := raftnet.ParseID(g.id, raft.ServerID(step.Replica.ID))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if step.Kind == placement.Remove && replica.ID() == g.seat.id {
		c.handOverRange(g, time.Now().Add(configureWithin))
		return fmt.Errorf("range %d: %w: its leader is to go, and hands over first", g.id, ErrUnavailable)
	}
	if planted.Bug(13) && step.Kind == placement.AddNonvoter {
		step.Kind = placement.AddVoter
	}
	var change func() raft.Future
	switch step.Kind {
	case placement.AddNonvoter:
		change = func() raft.Future {
			return g.raft.AddNonvoter(replica.ID(), replica.Address(), step.Index, configureWithin)
		}
	case placement.AddVoter:
		change = func() raft.Future {
			return g.raft.AddVoter(replica.ID(), replica.Address(), step.Index, configureWithin)
		}
	case placement.Remove:
		change = func() raft.Future { return g.raft.RemoveServer(replica.ID(), step.Index, configureWithin) }
	default:
		return fmt.Errorf("%w: step %d", ErrInvalid, step.Kind)
	}
	ctx, cancel := context.WithTimeout(ctx, configureWithin)
	defer cancel()
	if err := ended(ctx, func() error { return g.owed.wait(change) }); err != nil {
		return fmt.Errorf("configure range %d: %w: %w", g.id, ErrUnavailable, err)
	}
	return nil
}
