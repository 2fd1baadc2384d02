package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/seed-91e7e7c1/corona/api"
)

// answerChunk asks the node for all good lines of a chunk at once, and writes
// an answer for every line.
func (s *Server) answerChunk(ctx context.Context, c *chunk) {
	defer close(c.done)
	ctx, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	defer cancel()
	results := make([]api.BatchResult, len(c.lines))
	if err := s.subscribeLines(ctx, c.lines, results); err != nil {
		s.log.Error("batch failed", "error", err)
		for i := range results {
			results[i] = api.BatchResult{Error: problemOf(err)}
		}
	}
	encoder := json.NewEncoder(&c.answer)
	for i := range results {
		s.countLine(results[i].Error)
		if err := encoder.Encode(results[i]); err != nil {
			panic(err) // our own types can always be encoded
		}
	}
}

// subscribeLines fills in the results. What panics on the way becomes an error:
// the goroutine is not net/http's, which would recover.
func (s *Server) subscribeLines(ctx context.Context, lines [][]byte, results []api.BatchResult) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			s.metrics.panics.Inc()
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	good := make([]api.SubscribeRequest, 0, len(lines))
	places := make([]int, 0, len(lines))
	for i, line := range lines {
		request, err := s.parseLine(line)
		if err != nil {
			results[i].Error = problemOf(err)
			continue
		}
		good, places = append(good, request), append(places, i)
	}
	if len(good) == 0 {
		return nil
	}
	for i, outcome := range s.node.Subscribe(ctx, good) {
		results[places[i]] = batchResult(outcome)
	}
	return nil
}

// parseLine reads one line; nil is one that was too long to keep.
func (s *Server) parseLine(line []byte) (request api.SubscribeRequest, err error) {
	if line == nil {
		return request, errTooLarge("line")
	}
	if len(bytes.TrimSpace(line)) == 0 {
		return request, api.NewProblem(http.StatusBadRequest, "empty line")
	}
	if err := decode(line, &request); err != nil {
		return request, err
	}
	return s.rules.Check(request)
}

func batchResult(outcome api.SubscribeOutcome) api.BatchResult {
	if outcome.Err != nil {
		return api.BatchResult{Error: problemOf(outcome.Err)}
	}
	made := present(*outcome.Subscription)
	return api.BatchResult{Subscription: &made}
}

func (s *Server) countLine(problem *api.Problem) {
	result := "subscribed"
	if problem != nil {
		result = "refused"
		if problem.Status >= http.StatusInternalServerError {
			result = "failed"
		}
	}
	s.metrics.batchLines.WithLabelValues(result).Inc()
}
