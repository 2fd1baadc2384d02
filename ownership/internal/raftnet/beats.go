package raftnet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/peer"
)

// beatTick is how long a heartbeat waits for others to the same node. Between idle nodes
// messages are all the work, and what one costs hardly depends on its size. It is short
// beside raft's lease, which every contact renews.
const beatTick = 50 * time.Millisecond

// beats gathers the heartbeats of all replicas to one node.
type beats struct {
	net  *Net
	node string

	mu      sync.Mutex
	waiting []*beat
}

// beat is a heartbeat on its way.
type beat struct {
	group   uint64 // the replica's that it is for
	message []byte
	answer  chan beatAnswer // holds one: its sender may have gone
}

type beatAnswer struct {
	message []byte
	err     error
}

// beatsTo returns what gathers the heartbeats to a node.
func (n *Net) beatsTo(node string) *beats {
	n.mu.Lock()
	defer n.mu.Unlock()
	b := n.mu.beats[node]
	if b == nil {
		b = &beats{net: n, node: node}
		n.mu.beats[node] = b
	}
	return b
}

// send sends a heartbeat with the next message to the node and returns the answer.
func (b *beats) send(ctx context.Context, group uint64, message []byte) ([]byte, error) {
	one := &beat{group: group, message: message, answer: make(chan beatAnswer, 1)}
	b.mu.Lock()
	b.waiting = append(b.waiting, one)
	if len(b.waiting) == 1 {
		time.AfterFunc(beatTick, b.flush) // ends within promptWithin
	}
	b.mu.Unlock()
	select {
	case answer := <-one.answer:
		return answer.message, answer.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// flush sends what waits, and hands out the answers.
func (b *beats) flush() {
	b.mu.Lock()
	all := b.waiting
	b.waiting = nil
	b.mu.Unlock()
	answers, err := b.call(all)
	for i, one := range all {
		if err != nil {
			one.answer <- beatAnswer{err: err}
		} else {
			one.answer <- answers[i]
		}
	}
}

func (b *beats) call(all []*beat) ([]beatAnswer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), promptWithin)
	defer cancel()
	reply, err := b.net.peers.Call(ctx, b.node, peer.Control, kindHeartbeats, 0, encodeBeats(all))
	if err != nil {
		return nil, err
	}
	answers, err := decodeBeatAnswers(reply)
	if err == nil && len(answers) != len(all) {
		err = fmt.Errorf("%w: %d answers to %d heartbeats", errMessage, len(answers), len(all))
	}
	return answers, err
}

// heartbeats serves what flush has sent: each of them by itself, since one that brings a
// new term is written.
func (n *Net) heartbeats(ctx context.Context, call peer.Call) ([]byte, error) {
	all, err := decodeBeats(call.Payload)
	if err != nil {
		return nil, err
	}
	answers := make([]beatAnswer, len(all))
	serve := n.handler((*Transport).heartbeat)
	var serving sync.WaitGroup
	for i, one := range all {
		serving.Go(func() {
			message, err := serve(ctx, peer.Call{From: call.From, Group: one.group, Payload: one.message})
			answers[i] = beatAnswer{message, err}
		})
	}
	serving.Wait()
	return encodeBeatAnswers(answers), nil
}

// Heartbeats in one message: how many, and of each the group and the message. Answers in
// the same order: whether it is an error, and the message or the error's text.

func encodeBeats(all []*beat) []byte {
	var w writer
	w.number(uint64(len(all)))
	for _, one := range all {
		w.number(one.group)
		w.bytes(one.message)
	}
	return w
}

func decodeBeats(b []byte) (all []*beat, err error) {
	r := &reader{rest: b}
	for range r.count() {
		all = append(all, &beat{group: r.number(), message: r.bytes()})
	}
	return all, r.end("heartbeats")
}

func encodeBeatAnswers(answers []beatAnswer) []byte {
	var w writer
	w.number(uint64(len(answers)))
	for _, a := range answers {
		w.bool(a.err != nil)
		if a.err != nil {
			a.message = []byte(a.err.Error())
		}
		w.bytes(a.message)
	}
	return w
}

func decodeBeatAnswers(b []byte) (answers []beatAnswer, err error) {
	r := &reader{rest: b}
	for range r.count() {
		var a beatAnswer
		failed, message := r.bool(), r.bytes()
		if a.message = message; failed {
			a = beatAnswer{err: errors.New(string(message))}
		}
		answers = append(answers, a)
	}
	return answers, r.end("answers to heartbeats")
}

// count is how many there are of what takes two bytes at least.
func (r *reader) count() uint64 {
	n := r.number()
	if n > uint64(len(r.rest)/2) {
		r.rest, r.bad = nil, true
		return 0
	}
	return n
}
