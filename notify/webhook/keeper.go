package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/notify/streak"
)

// told is a question in a message, in microseconds.
type told struct {
	URL       string        `json:"url"`
	From      uint64        `json:"from"`
	Works     bool          `json:"works,omitempty"`
	Wants     bool          `json:"wants,omitempty"`
	Outcomes  []toldOutcome `json:"outcomes,omitempty"`
	Unused    uint64        `json:"unused,omitempty"`
	CreatedUS int64         `json:"created_us,omitempty"`
}

type toldOutcome struct {
	Failed       bool   `json:"failed,omitempty"`
	Gone         bool   `json:"gone,omitempty"`
	Text         string `json:"text,omitempty"`
	RetryAfterUS int64  `json:"retry_after_us,omitempty"`
	Grant        uint64 `json:"grant,omitempty"`
	Tested       bool   `json:"tested,omitempty"`
	AgeUS        int64  `json:"age_us,omitempty"` // since its request began; nodes before outcomes had it send none
}

// toldAnswer is an answer in a message, in microseconds.
type toldAnswer struct {
	State          string `json:"state,omitempty"`
	FailingSinceUS int64  `json:"failing_since_us,omitempty"`
	Attempts       int    `json:"attempts,omitempty"`
	LastError      string `json:"last_error,omitempty"`
	NextAttemptUS  int64  `json:"next_attempt_us,omitempty"`
	LostUntilUS    int64  `json:"lost_until_us,omitempty"`
	Grant          uint64 `json:"grant,omitempty"`
	GrantLostUS    int64  `json:"grant_lost_until_us,omitempty"`
	AgainUS        int64  `json:"again_us,omitempty"`
}

// maxAge is of a request: older ones are as old.
const maxAge = streak.KeepLost

var (
	errNotKept   = errors.New("this node does not keep the endpoint, or not yet")
	errQuestions = errors.New("questions that no sound node asks")
	errAnswers   = errors.New("as many answers as questions are wanted")
)

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

func encode(value any) []byte {
	content, err := json.Marshal(value)
	if err != nil {
		panic(err) // of these types
	}
	return content
}

// encodeQuestions gives the time of a request as its age, since clocks differ.
func encodeQuestions(urls []string, questions []*streak.Question, now time.Time) []byte {
	all := make([]told, len(questions))
	for i, q := range questions {
		all[i] = told{URL: urls[i], From: q.From, Works: q.Works, Wants: q.Wants, Unused: q.Unused, CreatedUS: micros(q.Created)}
		for _, o := range q.Outcomes {
			one := toldOutcome{Grant: o.Grant, Tested: o.Tested, AgeUS: now.Sub(o.Began).Microseconds()}
			if f := o.Failed; f != nil {
				one.Failed, one.Gone, one.Text, one.RetryAfterUS = true, f.Gone, f.Text, f.RetryAfter.Microseconds()
			}
			all[i].Outcomes = append(all[i].Outcomes, one)
		}
	}
	return encode(all)
}

// decodeQuestions refuses as a whole what no program as this one has written.
func decodeQuestions(content []byte, r channel.Range, now time.Time) (urls []string, questions []streak.Question, err error) {
	var all []told
	if err := json.Unmarshal(content, &all); err != nil {
		return nil, nil, fmt.Errorf("decode questions: %w", err)
	}
	if len(all) == 0 || len(all) > maxQuestions {
		return nil, nil, errQuestions
	}
	for _, one := range all {
		q, err := one.question(r, now)
		if err != nil {
			return nil, nil, err
		}
		urls, questions = append(urls, one.URL), append(questions, q)
	}
	return urls, questions, nil
}

func (one told) question(r channel.Range, now time.Time) (streak.Question, error) {
	q := streak.Question{From: one.From, Works: one.Works, Wants: one.Wants, Unused: one.Unused, Created: fromMicros(one.CreatedUS)}
	if one.URL == "" || len(one.URL) > channel.MaxURL || !r.Has(channel.IDOf(one.URL).Bucket()) || one.From == 0 || len(one.Outcomes) > streak.MaxOutcomes {
		return q, errQuestions
	}
	for _, o := range one.Outcomes {
		outcome := streak.Outcome{Grant: o.Grant, Tested: o.Tested, Began: now.Add(-time.Duration(min(o.AgeUS, maxAge.Microseconds())) * time.Microsecond)}
		if o.RetryAfterUS < 0 || o.RetryAfterUS > maxRetryAfter.Microseconds() || o.AgeUS < 0 {
			return q, errQuestions
		}
		if o.Failed {
			outcome.Failed = &streak.Failure{Gone: o.Gone, Text: o.Text, RetryAfter: time.Duration(o.RetryAfterUS) * time.Microsecond}
		}
		q.Outcomes = append(q.Outcomes, outcome)
	}
	return q, nil
}

func encodeAnswers(answers []streak.Answer) []byte {
	all := make([]toldAnswer, len(answers))
	for i, a := range answers {
		all[i] = toldAnswer{
			State: a.Record.State, FailingSinceUS: micros(a.Record.FailingSince), Attempts: a.Record.Attempts,
			LastError: a.Record.LastError, NextAttemptUS: micros(a.Record.NextAttempt), LostUntilUS: micros(a.Record.LostUntil),
			Grant: a.Grant, GrantLostUS: micros(a.LostUntil), AgainUS: a.Again.Microseconds(),
		}
	}
	return encode(all)
}

func decodeAnswers(content []byte, urls []string) ([]streak.Answer, error) {
	var all []toldAnswer
	if err := json.Unmarshal(content, &all); err != nil {
		return nil, fmt.Errorf("decode answers: %w", err)
	}
	if len(all) != len(urls) {
		return nil, errAnswers
	}
	answers := make([]streak.Answer, len(all))
	for i, a := range all {
		answers[i] = streak.Answer{
			Record: channel.Endpoint{
				URL: urls[i], State: a.State, FailingSince: fromMicros(a.FailingSinceUS), Attempts: a.Attempts,
				LastError: a.LastError, NextAttempt: fromMicros(a.NextAttemptUS), LostUntil: fromMicros(a.LostUntilUS),
			},
			Grant: a.Grant, LostUntil: fromMicros(a.GrantLostUS), Again: time.Duration(a.AgainUS) * time.Microsecond,
		}
	}
	return answers, nil
}

// serve answers questions about endpoints of a range, as their keeper. A change of an
// endpoint's state is told once it is durable.
func (s *streaks) serve(ctx context.Context, r channel.Range, content []byte) ([]byte, error) {
	urls, questions, err := decodeQuestions(content, r, time.Now())
	if err != nil {
		return nil, err
	}
	t, endpoints, answers, err := s.answerAll(urls, questions)
	if err != nil {
		return nil, err
	}
	for i, e := range endpoints {
		if answers[i].Record, err = s.durable(ctx, t, e); err != nil {
			return nil, err
		}
	}
	return encodeAnswers(answers), nil
}

func (s *streaks) answerAll(urls []string, questions []streak.Question) (*tenure, []*endpoint, []streak.Answer, error) {
	s.Lock()
	defer s.Unlock()
	t := s.served(channel.IDOf(urls[0]).Bucket())
	if t == nil {
		return nil, nil, nil, errNotKept
	}
	endpoints, answers := make([]*endpoint, len(urls)), make([]streak.Answer, len(urls))
	for i, url := range urls {
		e := s.endpoints.get(url)
		endpoints[i], answers[i] = e, s.answer(e, questions[i])
		s.endpoints.forget(e)
	}
	return t, endpoints, answers, nil
}

// durable returns an endpoint's record once its state is durable.
func (s *streaks) durable(ctx context.Context, t *tenure, e *endpoint) (channel.Endpoint, error) {
	for {
		record, settles, err := s.settling(t, e)
		if err != nil || settles == nil {
			return record, err
		}
		select {
		case <-ctx.Done():
			return channel.Endpoint{}, ctx.Err()
		case <-settles:
		}
	}
}

// settling returns an endpoint's record; what it returns beside that, if anything, is
// closed when it is durable.
func (s *streaks) settling(t *tenure, e *endpoint) (channel.Endpoint, <-chan struct{}, error) {
	s.Lock()
	defer s.Unlock()
	if t.over {
		return channel.Endpoint{}, nil, errNotKept
	}
	if e.kept.settled() {
		return e.kept.streak.Record, nil, nil
	}
	if e.kept.settles == nil {
		e.kept.settles = make(chan struct{})
	}
	return channel.Endpoint{}, e.kept.settles, nil
}
