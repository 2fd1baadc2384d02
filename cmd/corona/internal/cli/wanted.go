package cli

import (
	"errors"

	"github.com/spf13/pflag"
)

// Wanted is the error of a flag's value that was refused: what is wanted instead.
type Wanted string

func (w Wanted) Error() string { return string(w) }

// builtIn says what is wanted of the flag library's own kinds of values, whose errors
// speak of the functions that read them.
var builtIn = map[string]Wanted{
	"bool":     "want true or false",
	"duration": "want a duration, such as 30s or 1h30m",
	"float64":  "want a number",
	"int":      "want a whole number",
	"uint64":   "want a whole number, 0 or above",
}

// WantedOf says what is wanted instead of a value.
func WantedOf(invalid *pflag.InvalidValueError) error {
	cause := invalid.Unwrap()
	var own Wanted
	if want, known := builtIn[invalid.GetFlag().Value.Type()]; known && !errors.As(cause, &own) {
		return want
	}
	return cause
}
