package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"syscall"

	"github.com/seed-91e7e7c1/corona/api"
)

// The exit codes that scripts rely on.
const (
	ExitDone        = 0
	ExitNo          = 1 // the answer is "no": a threshold missed, a difference found
	ExitUsage       = 2 // wrong usage or bad input
	ExitUnreachable = 3 // a node could not be reached, or refused
)

// exitError is an error that ends the program with a code of its own. An empty
// err means that the code says it all and nothing is printed.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// Exit returns an error that ends the program with a code; err may be nil when the
// code says it all.
func Exit(code int, err error) error { return &exitError{code, err} }

// ErrInterrupted ends a tool that was stopped by a signal.
var ErrInterrupted = Exit(ExitNo, errors.New("interrupted"))

// ExitCode returns the code that err asks for. What asks for none is wrong
// usage: that is how flag and argument errors arrive.
func ExitCode(err error) int {
	if err == nil {
		return ExitDone
	}
	var exit *exitError
	if errors.As(err, &exit) {
		return exit.code
	}
	return ExitUsage
}

// NodeError is how a command reports what its client returned: whatever the node
// did not do is exit code 3, for whatever reason.
func NodeError(err error) error {
	if err == nil {
		return nil
	}
	return Exit(ExitUnreachable, Explain(err))
}

// Explain says in words what a client's error means and what to do about it.
func Explain(err error) error {
	var problem *api.Problem
	var call *api.CallError
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted")
	case errors.As(err, &problem) && problem.Status == http.StatusUnauthorized:
		return fmt.Errorf("the node refused: %w (give its token with CORONA_TOKEN_FILE, CORONA_TOKEN or --token)", err)
	case errors.As(err, &problem):
		return fmt.Errorf("the node refused: %w", err)
	case errors.As(err, &call) && errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("no node at %s (start one with \"corona serve\", or name another with --server): %w", call.Server, call.Err)
	}
	return err
}
