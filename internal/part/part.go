// Package part names, in profiles, which part of a node a goroutine works for: samples bear
// the label "part". Labels are set where long-lived goroutines begin and where rare work
// does, and goroutines that are started there inherit them; a poll that finds nothing new
// sets none.
package part

import (
	"context"
	"runtime/pprof"
)

// Name is a part of a node.
type Name string

// The parts.
const (
	Poll    Name = "poll"    // asking origins, and reading what they answer
	Judge   Name = "judge"   // what a poll's difference means
	Commit  Name = "commit"  // replication, the log and the store
	Deliver Name = "deliver" // to sinks
	Solve   Name = "solve"   // rates
)

const label = "part"

// Do does something for a part, on the caller's goroutine, whose labels are afterwards those
// of ctx.
func Do(ctx context.Context, name Name, do func(context.Context)) {
	pprof.Do(ctx, pprof.Labels(label, string(name)), do)
}

// Join has the caller's goroutine work for the part that ctx was made for until it ends.
func Join(ctx context.Context) { pprof.SetGoroutineLabels(ctx) }
