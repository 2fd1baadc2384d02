package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed-91e7e7c1/corona/api"
)

// The exit codes that scripts rely on.
const (
	exitDone        = 0
	exitNo          = 1 // the answer is "no": a threshold missed, a difference found
	exitUsage       = 2 // wrong usage or bad input
	exitUnreachable = 3 // a node could not be reached, or refused
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

// errInterrupted ends a tool that was stopped by a signal.
var errInterrupted = &exitError{exitNo, errors.New("interrupted")}

// exitCode returns the code that err asks for. What asks for none is wrong
// usage: that is how flag and argument errors arrive.
func exitCode(err error) int {
	if err == nil {
		return exitDone
	}
	var exit *exitError
	if errors.As(err, &exit) {
		return exit.code
	}
	return exitUsage
}

// nodeError is how a command reports what its client returned: whatever the node
// did not do is exit code 3, whoever is to blame.
func nodeError(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitUnreachable, explain(err)}
}

func explain(err error) error {
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

// flagError adds to a flag error what leads on from there.
func flagError(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		err = fmt.Errorf("--%s %q: %w", invalid.GetFlag().Name, invalid.GetValue(), wantedOf(invalid))
	}
	return fmt.Errorf("%w (see %s --help)", err, cmd.CommandPath())
}

// wantArgs asks for exactly these arguments, words such as "URL" for the
// message. Of one that ends in "…" there may be more.
func wantArgs(words ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		many := len(words) > 0 && strings.HasSuffix(words[len(words)-1], "…")
		switch {
		case len(args) < len(words):
			return flagError(cmd, fmt.Errorf("%s is missing", strings.TrimSuffix(words[len(args)], "…")))
		case len(args) > len(words) && !many:
			return flagError(cmd, fmt.Errorf("unexpected argument %q", args[len(words)]))
		}
		return nil
	}
}

// oneLine folds a message into the one line that is promised.
func oneLine(message string) string { return clean(strings.Join(strings.Fields(message), " ")) }
