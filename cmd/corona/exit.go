package main

import "errors"

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
