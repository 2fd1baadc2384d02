package ownership

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/peer"
	"github.com/seed-91e7e7c1/corona/internal/planted"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// Call is a kind of call that the leader of a range carries out, whichever node it is
// made at. Between nodes queries and answers are JSON, so that a program that knows
// more fields understands one that knows fewer; bytes go as they are.
type Call[Q, A any] struct {
	rt     *router
	name   string
	run    func(ctx context.Context, r channel.Range, query Q) (A, error)
	within time.Duration
	once   bool // what may have been carried out is not asked again
}

// Within returns the call with another limit than that of all calls of the store, at
// most 30 s.
func (c Call[Q, A]) Within(limit time.Duration) Call[Q, A] {
	c.within = limit
	return c
}

// Once returns the call for what must not be carried out twice: when its answer is lost,
// it ends with ErrUnavailable.
func (c Call[Q, A]) Once() Call[Q, A] {
	c.once = true
	return c
}

// NewCall makes a kind of call known to a store; when an answer is lost it is made
// again, unless it is a Once. Run is called on the node that leads
// the range, at an instant at which it certainly does. Of its errors those that this
// package and package channel name are told apart at the caller's node.
func NewCall[Q, A any](s *Store, name string, run func(ctx context.Context, r channel.Range, query Q) (A, error)) Call[Q, A] {
	return newCall(s.router, name, run)
}

func newCall[Q, A any](rt *router, name string, run func(ctx context.Context, r channel.Range, query Q) (A, error)) Call[Q, A] {
	c := Call[Q, A]{rt: rt, name: name, run: run, within: answerWithin}
	rt.calls.add(name, c.serve)
	return c
}

// server is a kind of call without its types.
type server func(ctx context.Context, r channel.Range, query []byte) (answer []byte, err error)

// calls are the kinds that a store knows, by name.
type calls struct {
	mu      sync.Mutex
	servers map[string]server
}

func (c *calls) add(name string, serve server) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.servers == nil {
		c.servers = make(map[string]server)
	}
	c.servers[name] = serve
}

func (c *calls) of(name string) (server, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	serve, known := c.servers[name]
	return serve, known
}

// At makes the call at the leader of the range with a bucket. Besides the call's own
// errors it returns ErrUnavailable when that range has no leader within its limit, five
// seconds unless it has another: then the outcome is unknown.
func (c Call[Q, A]) At(ctx context.Context, b channel.Bucket, query Q) (A, error) {
	return c.about(ctx, channel.Range{From: b, To: b}, query)
}

// In makes the call at the leader of a range that still has all of its buckets, as
// [Store.EachRange] visits them.
func (c Call[Q, A]) In(ctx context.Context, r channel.Range, query Q) (A, error) {
	return c.about(ctx, r, query)
}

// at makes the call at the leader of a range, if it still has the same buckets: the error is
// errDivided if not.
func (c Call[Q, A]) at(ctx context.Context, r *route, query Q) (answer A, err error) {
	return c.about(ctx, r.Range, query)
}

// about makes the call at the leader of the range that has some buckets.
func (c Call[Q, A]) about(ctx context.Context, buckets channel.Range, query Q) (answer A, err error) {
	ctx, cancel := within(ctx, c.within)
	defer cancel()
	err = c.rt.lead(ctx, buckets.From,
		func(g *group) (err error) {
			in, err := c.rt.leads(ctx, g, buckets)
			if err == nil {
				answer, err = c.run(ctx, in, query)
			}
			return c.rt.repairs.refuse(g, err)
		},
		func(r *route, node string) error { return c.fetch(ctx, r, node, buckets, query, &answer) },
	)
	return answer, err
}

// leads makes sure that this node leads a range that has some buckets at an instant after the
// call, and returns the range. No other range's leader has served them before.
func (rt *router) leads(ctx context.Context, g *group, buckets channel.Range) (channel.Range, error) {
	if err := rt.confirm(ctx, g); err != nil {
		return channel.Range{}, err
	}
	in := g.state.Range()
	switch {
	case in.Has(buckets.From) && in.Has(buckets.To):
		return in, nil
	case rt.of(buckets.From).Has(buckets.To):
		return in, errElsewhere // the routes are behind
	default:
		return in, errDivided
	}
}

// fetch makes the call at another node.
func (c Call[Q, A]) fetch(ctx context.Context, r *route, node string, buckets channel.Range, query Q, answer *A) error {
	if !r.Has(buckets.To) {
		return errDivided
	}
	content, err := encode(query)
	if err != nil {
		return fmt.Errorf("encode query of %s: %w", c.name, err)
	}
	question, err := proto.Marshal(&wire.Question{Kind: c.name, Query: content, From: uint32(buckets.From), Beyond: uint32(buckets.To) + 1})
	if err != nil {
		return fmt.Errorf("encode query of %s: %w", c.name, err)
	}
	got, err := c.rt.call(ctx, r, node, kindCall, question)
	if errors.Is(err, peer.ErrLost) && !c.once && ctx.Err() == nil {
		r.learn("")
		return errElsewhere
	}
	if err != nil {
		return err
	}
	if err := failureError(got.Failure); err != nil {
		return err
	}
	if err := decode(got.Content, answer); err != nil {
		return fmt.Errorf("%w: answer of %s to %s: %w", ErrUnavailable, raftnet.NodeName(node), c.name, err)
	}
	return nil
}

func (c Call[Q, A]) serve(ctx context.Context, r channel.Range, content []byte) ([]byte, error) {
	var query Q
	if err := decode(content, &query); err != nil {
		return nil, fmt.Errorf("%w: query of %s: %w", ErrInvalid, c.name, err)
	}
	answer, err := c.run(ctx, r, query)
	if err != nil {
		return nil, err
	}
	return encode(answer)
}

func encode(value any) ([]byte, error) {
	if bytes, raw := value.([]byte); raw {
		return bytes, nil
	}
	return json.Marshal(value)
}

func decode(content []byte, to any) error {
	if bytes, raw := to.(*[]byte); raw {
		*bytes = content
		return nil
	}
	return json.Unmarshal(content, to)
}

// confirm makes sure that this node still leads the range of one of its replicas.
func (rt *router) confirm(ctx context.Context, g *group) error {
	if rt.terms == nil || planted.Bug(4) {
		return nil // there is no other voter
	}
	return rt.terms.confirm(ctx, g)
}

// serveCall carries out a call that another node has sent.
func (rt *router) serveCall(ctx context.Context, call peer.Call) ([]byte, error) {
	r, err := rt.routeOf(call.Group)
	if err != nil {
		return elsewhere()
	}
	question := &wire.Question{}
	if err := proto.Unmarshal(call.Payload, question); err != nil {
		return nil, fmt.Errorf("decode call: %w", err)
	}
	serve, known := rt.calls.of(question.Kind)
	if !known {
		return nil, fmt.Errorf("calls of kind %q are not known here", question.Kind)
	}
	answer := &wire.Answer{}
	err = errElsewhere
	if g := r.serving(); g != nil {
		about := r.Range
		if question.Beyond > 0 {
			about.From, about.To = channel.Bucket(question.From), channel.Bucket(question.Beyond-1)
		}
		in, failed := rt.leads(ctx, g, about)
		if err = failed; errors.Is(err, errDivided) {
			err = errElsewhere // the caller learns it by itself
		} else if err == nil {
			answer.Content, err = serve(ctx, in, question.Query)
		}
		err = rt.repairs.refuse(g, err)
	}
	if err != nil {
		return rt.reply(r, state.Result{}, err)
	}
	return proto.Marshal(answer)
}
