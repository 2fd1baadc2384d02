package webhook

import (
	"context"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/notify/streak"
)

// inquiries asks the keepers of endpoints on other nodes. Questions of one bucket go
// together, one call after the other, until they are answered: a bucket without a leader
// holds up its own alone.
type inquiries struct {
	*core
	endpoints *endpoints
	heard     func(e *endpoint, answer streak.Answer) // Locked.
	waiting   map[channel.Bucket]map[*endpoint]struct{}
	underWay  map[channel.Bucket]bool
	wake      chan struct{} // 1
	calls     sync.WaitGroup
}

func newInquiries(core *core, endpoints *endpoints) *inquiries {
	return &inquiries{
		core: core, endpoints: endpoints, waiting: make(map[channel.Bucket]map[*endpoint]struct{}),
		underWay: make(map[channel.Bucket]bool), wake: make(chan struct{}, 1),
	}
}

const (
	maxQuestions = 256         // of one call
	retryAsk     = time.Second // pause after a call that was not answered
)

// inquiry is what the keeper of an endpoint is to be asked.
type inquiry struct {
	next  *streak.Question // nil: nothing
	asked *streak.Question // under way; nil: none
}

func (i *inquiry) idle() bool { return i.next == nil && i.asked == nil }

// ask asks an endpoint's keeper, also if that is to be this node. Locked.
func (s *inquiries) ask(e *endpoint, q streak.Question) {
	if e.ask.next != nil {
		q = streak.Merge(*e.ask.next, q)
	}
	e.ask.next = &q
	if s.config.Ask == nil {
		return // this node gains the range
	}
	if s.waiting[e.bucket] == nil {
		s.waiting[e.bucket] = make(map[*endpoint]struct{})
	}
	s.waiting[e.bucket][e] = struct{}{}
	signal(s.wake)
}

// cancel returns what an endpoint's keeper does not know for certain, nil if there is
// nothing: this node keeps it from now on. Locked.
func (s *inquiries) cancel(e *endpoint) *streak.Question {
	q := e.ask.next
	if asked := e.ask.asked; asked != nil {
		q = asked
		if e.ask.next != nil {
			merged := streak.Merge(*asked, *e.ask.next)
			q = &merged
		}
	}
	e.ask = inquiry{}
	delete(s.waiting[e.bucket], e)
	return q
}

// run asks until ctx ends, and returns when no call is under way.
func (s *inquiries) run(ctx context.Context) {
	defer s.calls.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
		for bucket, asked := range s.take() {
			s.calls.Go(func() { s.call(ctx, bucket, asked) })
		}
	}
}

// asked are the questions of a call.
type asked struct {
	endpoints []*endpoint
	questions []*streak.Question
}

// take returns the questions of the buckets of which none is under way.
func (s *inquiries) take() map[channel.Bucket]asked {
	s.Lock()
	defer s.Unlock()
	all := make(map[channel.Bucket]asked)
	for bucket, waiting := range s.waiting {
		if s.underWay[bucket] {
			continue
		}
		var of asked
		for e := range waiting {
			if len(of.endpoints) == maxQuestions {
				break
			}
			delete(waiting, e)
			e.ask = inquiry{asked: e.ask.next}
			of.endpoints, of.questions = append(of.endpoints, e), append(of.questions, e.ask.asked)
		}
		if len(waiting) == 0 {
			delete(s.waiting, bucket)
		}
		if len(of.endpoints) > 0 {
			s.underWay[bucket] = true
			all[bucket] = of
		}
	}
	return all
}

// call asks one bucket's keeper.
func (s *inquiries) call(ctx context.Context, bucket channel.Bucket, of asked) {
	s.metrics.questions.Add(float64(len(of.questions)))
	answers, err := s.fetch(ctx, bucket, of)
	if err != nil {
		s.metrics.unanswered.Add(float64(len(of.questions)))
		s.log.Debug("the keeper of webhook endpoints does not answer", "bucket", bucket, "error", err)
		pause(ctx, retryAsk)
	}
	s.Lock()
	defer s.Unlock()
	delete(s.underWay, bucket)
	for i, e := range of.endpoints {
		if e.ask.asked != of.questions[i] {
			continue // this node keeps the endpoint, or has meanwhile
		}
		e.ask.asked = nil
		switch next := e.ask.next; {
		case err != nil:
			e.ask.next = nil
			q := *of.questions[i]
			if next != nil {
				q = streak.Merge(q, *next)
			}
			s.ask(e, q)
		case next == nil: // else the next answer is a newer one
			s.heard(e, answers[i])
		}
	}
	signal(s.wake)
}

func (s *inquiries) fetch(ctx context.Context, bucket channel.Bucket, of asked) ([]streak.Answer, error) {
	urls := make([]string, len(of.endpoints))
	for i, e := range of.endpoints {
		urls[i] = e.url
	}
	content, err := s.config.Ask(ctx, bucket, encodeQuestions(urls, of.questions, time.Now()))
	if err != nil {
		return nil, err
	}
	return decodeAnswers(content, urls)
}
