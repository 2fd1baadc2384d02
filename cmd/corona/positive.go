package main

import (
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/internal/timespan"
)

// positive is the value of a flag that 0 makes no sense for: a node would take it for
// its default. What is below 0, or no value at all, is refused in the same words,
// wherever it comes from.
type positive[T int | uint64 | time.Duration] struct {
	value *T
	parse func(string) (T, error)
	text  func(T) string
	kind  string // for the help
	want  cli.Wanted
}

// String returns what is set; empty for a default that the node decides.
func (p positive[T]) String() string {
	if p.value == nil || *p.value == 0 {
		return ""
	}
	return p.text(*p.value)
}

func (p positive[T]) Set(text string) error {
	value, err := p.parse(text)
	if err != nil || value <= 0 {
		return p.want
	}
	*p.value = value
	return nil
}

func (p positive[T]) Type() string { return p.kind }

const (
	wantDuration cli.Wanted = "want a duration above 0, such as 30m or 1h30m"
	wantWhole    cli.Wanted = "want a whole number above 0"
)

func positiveDuration(flags *pflag.FlagSet, to *time.Duration, name string, preset time.Duration, usage string) {
	*to = preset
	flags.Var(positive[time.Duration]{to, time.ParseDuration, timespan.Setting, "duration", wantDuration}, name, usage)
}

func positiveInt(flags *pflag.FlagSet, to *int, name string, preset int, usage string) {
	*to = preset
	flags.Var(positive[int]{to, strconv.Atoi, strconv.Itoa, "int", wantWhole}, name, usage)
}

func positiveBytes(flags *pflag.FlagSet, to *uint64, name string, preset uint64, usage string) {
	*to = preset
	parse := func(text string) (uint64, error) { return strconv.ParseUint(text, 10, 64) }
	text := func(n uint64) string { return strconv.FormatUint(n, 10) }
	flags.Var(positive[uint64]{to, parse, text, "bytes", wantWhole}, name, usage)
}
