package ownership

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/peer"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// errElsewhere says that a command or a read was certainly not carried out, since the
// node does not lead the range: it may be sent to another one.
var errElsewhere = errors.New("this node does not lead the range")

// Pauses between attempts to find the leader of a range.
const (
	firstRetry = 10 * time.Millisecond
	lastRetry  = 200 * time.Millisecond
)

// lead finds the leader of a range for a call: here is called while this node leads it,
// there with the node that may, and both again, after a pause, as long as they return
// errElsewhere. The error is that of the last call, or ErrUnavailable when the context
// ends first.
func (s *Store) lead(ctx context.Context, r *route, here func() error, there func(node string) error) error {
	for pause := firstRetry; ; pause = min(2*pause, lastRetry) {
		err := s.leadOnce(r, here, there)
		if !errors.Is(err, errElsewhere) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return s.late(fmt.Errorf("range %d has no leader: %w", r.ID, context.Cause(ctx)))
		}
	}
}

func (s *Store) leadOnce(r *route, here func() error, there func(node string) error) error {
	switch {
	case s.closing.Load():
		return ErrClosed
	case r.serves():
		return here()
	case s.net == nil:
		return errElsewhere
	}
	node := r.leader()
	if node == s.net.self() {
		r.learn("")
		return errElsewhere
	}
	return there(node)
}

// forward sends a command to a node that may lead the range, and returns its result.
func (s *Store) forward(ctx context.Context, r *route, node string, command []byte) (state.Result, error) {
	answer, err := s.call(ctx, r, node, kindPropose, command)
	if err != nil {
		return state.Result{}, err
	}
	return resultOf(answer)
}

// call asks a node that may lead the range. What was not sent, or was refused by one
// that does not lead, is errElsewhere; what was lost on the way is ErrUnavailable.
func (s *Store) call(ctx context.Context, r *route, node string, kind peer.Kind, payload []byte) (*wire.Answer, error) {
	reply, err := s.net.peers.Call(ctx, node, peer.Log, kind, uint64(r.ID), payload)
	if errors.Is(err, peer.ErrNotSent) {
		r.learn("")
		return nil, errElsewhere
	}
	if err != nil {
		return nil, s.late(fmt.Errorf("%w: range %d at %s: %w", ErrUnavailable, r.ID, nodeName(node), err))
	}
	answer := &wire.Answer{}
	if err := proto.Unmarshal(reply, answer); err != nil {
		return nil, s.late(fmt.Errorf("%w: answer of %s: %w", ErrUnavailable, nodeName(node), err))
	}
	if answer.Elsewhere {
		r.learn(answer.Leader)
		return nil, errElsewhere
	}
	return answer, nil
}

// servePropose carries out a command that another node has forwarded.
func (s *Store) servePropose(ctx context.Context, call peer.Call) ([]byte, error) {
	r, err := s.routeOf(call.Group)
	if err != nil {
		return nil, err
	}
	if err := state.CheckForwarded(call.Payload); err != nil {
		return nil, err
	}
	var done state.Result
	if r.serves() {
		var p *proposal
		if p, err = s.enqueue(ctx, r.local, call.Payload); err == nil {
			done, err = s.answered(ctx, p)
		}
	} else {
		err = errElsewhere
	}
	return s.reply(r, done, err)
}

// reply encodes what a forwarded call came to.
func (s *Store) reply(r *route, done state.Result, err error) ([]byte, error) {
	answer := answerOf(done)
	switch {
	case errors.Is(err, errElsewhere), errors.Is(err, ErrClosed):
		answer = &wire.Answer{Elsewhere: true, Leader: r.leader()}
	case err != nil:
		answer = &wire.Answer{Failure: failureOf(err)}
	}
	return proto.Marshal(answer)
}

// routeOf finds the range that another node means.
func (s *Store) routeOf(id uint64) (*route, error) {
	if routes := s.routes.Load(); routes != nil && id < uint64(len(*routes)) {
		return (*routes)[id], nil
	}
	return nil, fmt.Errorf("no range %d here", id)
}

func resultOf(answer *wire.Answer) (state.Result, error) {
	if err := failureError(answer.Failure); err != nil {
		return state.Result{}, err
	}
	var done state.Result
	for _, each := range answer.Subscribed {
		done.Subscribed = append(done.Subscribed, state.Subscribed{
			Seq: each.Seq, CreatedUS: each.CreatedUs, FromVersion: each.FromVersion,
			Existing: each.Existing, Deleted: each.Deleted, Err: failureError(each.Failure),
		})
	}
	for _, claim := range answer.Claims {
		done.Claims = append(done.Claims, failureError(claim))
	}
	return done, nil
}

func answerOf(done state.Result) *wire.Answer {
	answer := &wire.Answer{}
	for _, each := range done.Subscribed {
		answer.Subscribed = append(answer.Subscribed, &wire.Answer_Subscribed{
			Seq: each.Seq, CreatedUs: each.CreatedUS, FromVersion: each.FromVersion,
			Existing: each.Existing, Deleted: each.Deleted, Failure: failureOf(each.Err),
		})
	}
	for _, err := range done.Claims {
		answer.Claims = append(answer.Claims, failureOf(err))
	}
	return answer
}

// classes are the errors that callers branch on, by the number that they have between
// nodes. An error of none of them is an unknown outcome.
var classes = []error{
	1: ErrUnavailable, 2: ErrStale, 3: ErrKeyReused, 4: ErrInvalid, 5: ErrTooLarge, 6: ErrNoSpace,
	7: channel.ErrNotFound, 8: channel.ErrTooOld, 9: ErrClosed, 10: disk.ErrCorrupt,
}

// farError is an error of another node: its text, and the class of it.
type farError struct {
	class error
	text  string
}

func (e *farError) Error() string { return e.text }
func (e *farError) Unwrap() error { return e.class }

// failureOf is empty for nil.
func failureOf(err error) *wire.Failure {
	if err == nil {
		return &wire.Failure{}
	}
	for class, is := range classes {
		if is != nil && errors.Is(err, is) {
			return &wire.Failure{Class: uint32(class), Text: err.Error()}
		}
	}
	return &wire.Failure{Class: 1, Text: err.Error()}
}

// failureError is nil for an empty one.
func failureError(f *wire.Failure) error {
	if f.GetClass() == 0 {
		return nil
	}
	class := ErrUnavailable
	if int(f.Class) < len(classes) {
		class = classes[f.Class]
	}
	return &farError{class, f.Text}
}
