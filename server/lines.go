package server

import (
	"bytes"
	"context"
	"fmt"
	"net/http"

	"github.com/seed-91e7e7c1/corona/api"
)

// answerBytes is about how long an answer is beyond the line that it answers. It
// says how much memory is made ready.
const answerBytes = 256

// answerChunk asks the node for all good lines of a chunk at once, and writes
// an answer for every line.
func (s *Server) answerChunk(ctx context.Context, c *chunk) {
	defer close(c.done)
	ctx, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	defer cancel()
	outcomes := make([]api.SubscribeOutcome, len(c.lines))
	if err := s.subscribeLines(ctx, c.lines, outcomes); err != nil {
		s.log.Error("batch failed", "error", err)
		for i := range outcomes {
			outcomes[i] = api.SubscribeOutcome{Err: err}
		}
	}
	c.answer = s.appendAnswers(make([]byte, 0, c.bytes+answerBytes*len(outcomes)), outcomes)
}

// appendAnswers appends a line for each outcome, and counts them.
func (s *Server) appendAnswers(answer []byte, outcomes []api.SubscribeOutcome) []byte {
	var made api.Subscription
	counts := make(map[string]int, 3)
	for _, outcome := range outcomes {
		var result api.BatchResult
		if outcome.Err != nil {
			result.Error = problemOf(outcome.Err)
		} else {
			made = present(*outcome.Subscription)
			result.Subscription, result.Existing = &made, outcome.Existing
		}
		counts[lineResult(&result)]++
		answer = result.AppendLine(answer)
	}
	for result, n := range counts {
		s.metrics.batchLines.WithLabelValues(result).Add(float64(n))
	}
	return answer
}

func lineResult(result *api.BatchResult) string {
	switch {
	case result.Error == nil && result.State == api.StateDeleted:
		return "deleted"
	case result.Error == nil:
		return "subscribed"
	case result.Error.Status >= http.StatusInternalServerError:
		return "failed"
	}
	return "refused"
}

// subscribeLines fills in the outcomes. What panics on the way becomes an error:
// the goroutine is not net/http's, which would recover.
func (s *Server) subscribeLines(ctx context.Context, lines [][]byte, outcomes []api.SubscribeOutcome) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			s.metrics.panics.Inc()
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	good := make([]api.SubscribeRequest, 0, len(lines))
	places := make([]int, 0, len(lines))
	parser := lineParser{rules: s.rules}
	for i, line := range lines {
		request, err := parser.parse(line)
		if err != nil {
			outcomes[i].Err = err
			continue
		}
		good, places = append(good, request), append(places, i)
	}
	if len(good) == 0 {
		return nil
	}
	for i, outcome := range s.node.Subscribe(ctx, good) {
		outcomes[places[i]] = outcome
	}
	return nil
}

// lineParser reads one line after another. Most batches have one sink, which is
// kept and checked once.
type lineParser struct {
	rules   Rules
	line    api.SubscribeRequest // the last one, as it came
	sink    api.Sink             // the last one that was good, as it came
	checked api.Sink             // the same, as a node keeps it
}

// parse reads one line; nil is one that was too long to keep.
func (p *lineParser) parse(line []byte) (request api.SubscribeRequest, err error) {
	if line == nil {
		return request, errTooLarge("line")
	}
	if !p.line.ScanLine(line) {
		if err := p.decode(line); err != nil {
			return request, err
		}
	}
	return p.rules.check(p.line, p.checkSink)
}

// decode reads a line of any shape.
func (p *lineParser) decode(line []byte) error {
	p.line = api.SubscribeRequest{}
	if len(bytes.TrimSpace(line)) == 0 {
		return api.NewProblem(http.StatusBadRequest, "empty line")
	}
	return decode(line, &p.line)
}

func (p *lineParser) checkSink(sink api.Sink) (api.Sink, error) {
	if sink == p.sink && sink.Type != "" {
		return p.checked, nil
	}
	checked, err := p.rules.checkSink(sink)
	if err == nil {
		p.sink, p.checked = sink, checked
	}
	return checked, err
}
