package raftnet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/peer"
)

// beatTick is how long the first heartbeat of a node waits for others, of whichever range
// and to whichever node: what an idle node costs is how often it wakes. Raft begins the
// next heartbeat a tenth to a fifth of its timeout after the answer (100 to 200 ms), so
// those that went together do so again, 250 ms later.
const beatTick = 150 * time.Millisecond

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

// sendBeat sends a heartbeat to a node with the next tick and returns the answer, in
// beatTick and promptWithin at most.
func (n *Net) sendBeat(ctx context.Context, node string, group uint64, message []byte) ([]byte, error) {
	one := &beat{group: group, message: message, answer: make(chan beatAnswer, 1)}
	n.beats.Lock()
	if len(n.beats.waiting) == 0 {
		time.AfterFunc(beatTick, n.tick)
	}
	n.beats.waiting[node] = append(n.beats.waiting[node], one)
	n.beats.Unlock()
	select {
	case answer := <-one.answer:
		return answer.message, answer.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// tick sends what waits, one message to each node.
func (n *Net) tick() {
	n.beats.Lock()
	waiting := n.beats.waiting
	n.beats.waiting = make(map[string][]*beat, len(waiting))
	n.beats.Unlock()
	for node, all := range waiting {
		go n.sendBeats(node, all) // ends within promptWithin
	}
}

// sendBeats sends heartbeats to one node, and hands out the answers.
func (n *Net) sendBeats(node string, all []*beat) {
	answers, err := n.callBeats(node, all)
	for i, one := range all {
		if err != nil {
			one.answer <- beatAnswer{err: err}
		} else {
			one.answer <- answers[i]
		}
	}
}

func (n *Net) callBeats(node string, all []*beat) ([]beatAnswer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), promptWithin)
	defer cancel()
	reply, err := n.peers.Call(ctx, node, peer.Control, kindHeartbeats, 0, encodeBeats(all))
	if err != nil {
		return nil, err
	}
	answers, err := decodeBeatAnswers(reply)
	if err == nil && len(answers) != len(all) {
		err = fmt.Errorf("%w: %d answers to %d heartbeats", errMessage, len(answers), len(all))
	}
	return answers, err
}

// heartbeats serves what sendBeats has sent: each of them by itself, since one that brings a
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
