package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"

	"github.com/seed-91e7e7c1/corona/api"
)

// retryAfter is the value of Retry-After, in seconds, when the answer is
// "not now": an election takes about that long.
const retryAfter = "2"

// refusal is a problem that sets header fields of the answer too.
type refusal struct {
	problem *api.Problem
	header  http.Header
}

func (r *refusal) Error() string { return r.problem.Error() }
func (r *refusal) Unwrap() error { return r.problem }

// fail answers with the problem that err is.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	problem := problemOf(err)
	if problem.Status == http.StatusInternalServerError {
		s.log.Error("request failed", "route", r.Pattern, "error", err)
	}
	header := w.Header()
	if with := (*refusal)(nil); errors.As(err, &with) {
		for name, values := range with.header {
			header[name] = values
		}
	}
	if problem.Status == http.StatusServiceUnavailable || problem.Status == http.StatusTooManyRequests {
		header.Set("Retry-After", retryAfter)
	}
	content, err := json.Marshal(problem)
	if err != nil {
		panic(err) // problems can always be encoded
	}
	header.Set("Content-Type", "application/problem+json")
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Length", strconv.Itoa(len(content)+len("\n")))
	answerFirst(w, r)
	w.WriteHeader(problem.Status)
	_, _ = w.Write(content) // a client that is gone needs no answer
	_, _ = io.WriteString(w, "\n")
}

// problemOf classifies what a handler returned, the specific before the general.
func problemOf(err error) *api.Problem {
	var problem *api.Problem
	switch {
	case errors.As(err, &problem):
		return whole(problem)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return api.NewProblem(http.StatusRequestTimeout, "the request did not arrive in time")
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return api.NewProblem(http.StatusServiceUnavailable,
			"no answer in time; whether it was done is not known: repeat it with the same Idempotency-Key")
	default:
		return api.NewProblem(http.StatusInternalServerError, "")
	}
}

// whole returns a problem that can be answered: with an error's status, and
// with type and title.
func whole(problem *api.Problem) *api.Problem {
	if problem.Status < 400 || problem.Status > 599 {
		return api.NewProblem(http.StatusInternalServerError, "")
	}
	full := *problem
	full.Type = cmp.Or(full.Type, api.ProblemType)
	full.Title = cmp.Or(full.Title, http.StatusText(full.Status))
	return &full
}

// writeJSON answers with a JSON document.
func writeJSON(w http.ResponseWriter, status int, answer any) error {
	content, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(content) // a client that is gone needs no answer
	_, _ = io.WriteString(w, "\n")
	return nil
}
