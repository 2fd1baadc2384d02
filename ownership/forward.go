package ownership

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-91e7e7c1/corona/internal/peer"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// forward sends a command to a node that may lead the range, and returns its result.
func (rt *router) forward(ctx context.Context, r *route, node string, command []byte) (state.Result, error) {
	answer, err := rt.call(ctx, r, node, kindPropose, command)
	if err != nil {
		return state.Result{}, err
	}
	return resultOf(answer)
}

// call asks a node that may lead the range. What was not sent, or was refused by one
// that does not lead, is errElsewhere; what was lost on the way is ErrUnavailable.
func (rt *router) call(ctx context.Context, r *route, node string, kind peer.Kind, payload []byte) (*wire.Answer, error) {
	reply, err := rt.net.peers.Call(ctx, node, peer.Log, kind, uint64(r.ID), payload)
	if errors.Is(err, peer.ErrNotSent) {
		r.learn("")
		return nil, errElsewhere
	}
	if err != nil {
		return nil, rt.late(fmt.Errorf("%w: range %d at %s: %w", ErrUnavailable, r.ID, raftnet.NodeName(node), err))
	}
	answer := &wire.Answer{}
	if err := proto.Unmarshal(reply, answer); err != nil {
		return nil, rt.late(fmt.Errorf("%w: answer of %s: %w", ErrUnavailable, raftnet.NodeName(node), err))
	}
	if answer.Elsewhere {
		r.learn(answer.Leader)
		return nil, errElsewhere
	}
	return answer, nil
}

// servePropose carries out a command that another node has forwarded.
func (rt *router) servePropose(ctx context.Context, call peer.Call) ([]byte, error) {
	r, err := rt.routeOf(call.Group)
	if err != nil {
		return elsewhere()
	}
	if err := state.CheckForwarded(call.Payload); err != nil {
		return nil, err
	}
	var done state.Result
	if g := r.serving(); g != nil {
		var p *proposal
		if p, err = rt.enqueue(ctx, g, call.Payload); err == nil {
			done, err = rt.answered(ctx, p)
		}
	} else {
		err = errElsewhere
	}
	return rt.reply(r, done, err)
}

// elsewhere answers for a range that this node does not know yet: it was split off just now.
func elsewhere() ([]byte, error) { return proto.Marshal(&wire.Answer{Elsewhere: true}) }

// reply encodes what a forwarded call came to.
func (rt *router) reply(r *route, done state.Result, err error) ([]byte, error) {
	answer := answerOf(done)
	switch {
	case errors.Is(err, errElsewhere), errors.Is(err, ErrClosed):
		answer = &wire.Answer{Elsewhere: true, Leader: r.leader()}
	case err != nil:
		answer = &wire.Answer{Failure: failureOf(err)}
	}
	return proto.Marshal(answer)
}
