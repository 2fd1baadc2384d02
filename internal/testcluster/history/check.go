package history

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// Report is what a check has found.
type Report struct {
	Channels   int
	Operations int         // lists without an answer not counted
	Unknown    int         // of them, without an answer
	Undecided  []string    // channels that were not decided within the limit, sorted
	Violations []Violation // by channel
}

// Violation is a channel whose history is not linearizable.
type Violation struct {
	Channel    string
	operations []operation
	info       porcupine.LinearizationInfo
	model      porcupine.Model
}

func (v Violation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "channel %s is not linearizable:", v.Channel)
	for _, o := range v.operations {
		fmt.Fprintf(&b, "\n  %s", &o)
	}
	return b.String()
}

// Visualize writes a page that shows how far the history can be explained.
func (v Violation) Visualize(w io.Writer) error { return porcupine.Visualize(v.model, v.info, w) }

// Err returns an error with all violations, nil if there are none. What is undecided is
// none.
func (r Report) Err() error {
	if len(r.Violations) == 0 {
		return nil
	}
	texts := make([]string, len(r.Violations))
	for i, v := range r.Violations {
		texts[i] = v.String()
	}
	return fmt.Errorf("%d of %d channels: %s", len(r.Violations), r.Channels, strings.Join(texts, "\n"))
}

// Check checks what was recorded so far. It takes limit at most for each channel, 0: as
// long as it needs, which is exponential in the operations that overlap.
func (r *Recorder) Check(limit time.Duration) Report {
	all := r.channels()
	report := Report{Channels: len(all)}
	for _, channel := range slices.Sorted(maps.Keys(all)) {
		operations := all[channel]
		report.Operations += len(operations)
		for _, o := range operations {
			if o.outcome == Unknown {
				report.Unknown++
			}
		}
		model, history := modelOf(operations)
		result, info := porcupine.CheckOperationsVerbose(model, history, limit)
		switch result {
		case porcupine.Illegal:
			report.Violations = append(report.Violations, Violation{channel, operations, info, model})
		case porcupine.Unknown:
			report.Undecided = append(report.Undecided, channel)
		}
	}
	return report
}

// A channel's state is a string with a byte for each key: in which state its
// subscription is.
const (
	never   = '-' // was not made
	active  = '+'
	deleted = 'x'
)

// keyed is what porcupine's model is given: an operation with keys by position.
type keyed struct {
	*operation
	key  int
	want string // of List: the state's keys that are active, '+', and that are not, '-'
}

// modelOf returns the sequential specification of a channel, and its history in
// porcupine's form. What has no answer returns at infinity.
func modelOf(operations []operation) (porcupine.Model, []porcupine.Operation) {
	position := positions(operations)
	history := make([]porcupine.Operation, 0, len(operations))
	for i := range operations {
		o := &operations[i]
		ended := o.ended
		if o.outcome == Unknown {
			ended = math.MaxInt64
		}
		history = append(history, porcupine.Operation{
			ClientId: o.client, Call: o.begun, Return: ended,
			Input: keyed{o, position[o.key], listed(o, position)}, Output: o.outcome,
		})
	}
	return porcupine.Model{
		Init: func() any { return strings.Repeat(string(never), len(position)) },
		Step: func(state, input, _ any) (bool, any) { return step(state.(string), input.(keyed)) },
		DescribeOperation: func(input, _ any) string {
			return input.(keyed).operation.String()
		},
	}, history
}

// positions numbers the keys of a channel.
func positions(operations []operation) map[string]int {
	position := make(map[string]int)
	add := func(key string) {
		if _, known := position[key]; !known {
			position[key] = len(position)
		}
	}
	for _, o := range operations {
		if o.kind != List {
			add(o.key)
		}
		for _, key := range o.keys {
			add(key)
		}
	}
	return position
}

// listed returns which keys a list showed; a key that it showed twice is in no state.
func listed(o *operation, position map[string]int) string {
	shown := []byte(strings.Repeat(string(never), len(position)))
	for _, key := range o.keys {
		at := &shown[position[key]]
		switch *at {
		case never:
			*at = active
		default:
			*at = '2'
		}
	}
	return string(shown)
}

// step says whether a node in a state could give an operation's answer, and which state
// it is in then.
func step(state string, o keyed) (bool, string) {
	set := func(to byte) string { return state[:o.key] + string(to) + state[o.key+1:] }
	switch o.kind {
	case List:
		return strings.ReplaceAll(state, string(deleted), string(never)) == o.want, state
	case Subscribe:
		switch state[o.key] {
		case never:
			return o.outcome == Done || o.outcome == Unknown, set(active)
		case active:
			return o.outcome == Done || o.outcome == Unknown, state
		}
		return o.outcome == Deleted || o.outcome == Unknown, state
	}
	if state[o.key] == never {
		return o.outcome == NotFound || o.outcome == Unknown, state
	}
	return o.outcome == Done || o.outcome == Unknown, set(deleted)
}
