package main

import (
	"errors"

	"github.com/spf13/pflag"
)

// wanted is the error of a flag's value that was refused: what is wanted instead.
type wanted string

func (w wanted) Error() string { return string(w) }

// builtIn says what is wanted of the flag library's own kinds of values, whose errors
// speak of the functions that read them.
var builtIn = map[string]wanted{
	"bool":     "want true or false",
	"duration": "want a duration, such as 30s or 1h30m",
	"float64":  "want a number",
	"int":      "want a whole number",
	"uint64":   "want a whole number, 0 or above",
}

// wantedOf says what is wanted instead of a value.
func wantedOf(invalid *pflag.InvalidValueError) error {
	cause := invalid.Unwrap()
	var own wanted
	if want, known := builtIn[invalid.GetFlag().Value.Type()]; known && !errors.As(cause, &own) {
		return want
	}
	return cause
}
