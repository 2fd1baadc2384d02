package main

import (
	"time"

	"github.com/seed-91e7e7c1/corona"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/internal/timespan"
)

// hostGap is the value of --host-gap, in which 0 is an answer of its own.
type hostGap struct{ gap *time.Duration }

// String returns what was set; empty when nothing was.
func (g hostGap) String() string {
	switch {
	case g.gap == nil || *g.gap == 0:
		return ""
	case *g.gap == corona.NoHostGap:
		return "0s"
	}
	return timespan.Setting(*g.gap)
}

func (g hostGap) Set(text string) error {
	gap, err := time.ParseDuration(text)
	switch {
	case err != nil, gap < 0:
		return cli.Wanted("want a duration such as 2s, or 0 for none")
	case gap == 0:
		gap = corona.NoHostGap
	}
	*g.gap = gap
	return nil
}

func (hostGap) Type() string { return "duration" }
