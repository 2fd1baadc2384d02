// Package costs is a file of what live runs of nodes measured: what a poll, a change, a
// channel and an idle node cost, each with the command that measured it. The scenarios
// write it, with -costs FILE, and benchmarks/sim multiplies it.
package costs

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"time"
)

// File is all that was measured. A run replaces what an earlier one of its kind measured.
type File struct {
	Figures map[string]Figure `json:"figures"` // by name, see [Names]
	Idle    []Idle            `json:"idle"`    // by nodes, then ranges
	Changes []Change          `json:"changes"` // by rising hops
}

// Run is where a figure comes from.
type Run struct {
	Command  string `json:"command"`
	Measured string `json:"measured"` // day, 2006-01-02
}

// Figure is one cost.
type Figure struct {
	Value float64 `json:"value"` // above 0
	Unit  string  `json:"unit"`
	Run
}

// Idle is what a node of a cluster costs that holds no channels: the mean of all nodes.
type Idle struct {
	Nodes     int     `json:"nodes"`
	Ranges    int     `json:"ranges"` // of the cluster, each on three nodes
	Processor float64 `json:"processor_s_per_s"`
	Sent      float64 `json:"sent_bytes_per_s"` // to other nodes, with the headers of packets
	Resident  float64 `json:"resident_bytes"`
	Run
}

// Replicas returns how many replicas of ranges a node has.
func (i Idle) Replicas() float64 { return float64(i.Ranges*min(i.Nodes, 3)) / float64(i.Nodes) }

// Change is what one change costs all nodes together, from the poll that finds it to the
// answers of all pollers, by how many nodes are told of it.
type Change struct {
	Hops      float64 `json:"hops"` // messages between nodes: reports to owners elsewhere, and news
	Processor float64 `json:"processor_s"`
	Run
}

// The figures that a file must have.
const (
	Poll        = "poll_processor"     // seconds of a node for each poll
	OwnerHeap   = "owner_heap"         // bytes for each channel that a node owns: its factors and its place in the plan
	ReplicaHeap = "replica_heap"       // bytes for each channel of a replica
	PollerHeap  = "poller_heap"        // bytes for each channel that a node polls
	Collector   = "heap_taken_to_live" // heap with garbage and room, to what is alive
	Fixed       = "fixed_memory"       // bytes of a busy node that are not Go's, and of its coders
	ContentDisk = "content_on_disk"    // bytes for each channel that a node polls
	Report      = "report"             // bytes, with its answer, between nodes
	News        = "news"               // bytes for each poller told, with its answer
	Note        = "notes"              // bytes for each poll of a channel that another node owns, of sizes and bounds
	Order       = "orders_per_channel" // orders and paces for each channel and maintenance interval, where nothing happens but changes
	Lease       = "lease"              // bytes for each range and poller, with its answer
	Seat        = "seat_heap"          // bytes of an owner for each channel and poller of it
	Row         = "solve_processor"    // seconds for each row of a solve
)

// Names are the figures that a file must have, sorted.
func Names() []string {
	names := []string{Poll, OwnerHeap, ReplicaHeap, PollerHeap, Collector, Fixed, ContentDisk, Report, News, Note, Order, Lease, Seat, Row}
	slices.Sort(names)
	return names
}

// ErrCosts is in the chain of every error about a file that cannot be computed with.
var ErrCosts = errors.New("bad costs")

// Read reads a file and checks it; see [File.Validate].
func Read(r io.Reader) (*File, error) {
	decoder := json.NewDecoder(r)
	decoder.DisallowUnknownFields()
	f := new(File)
	if err := decoder.Decode(f); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCosts, err)
	}
	return f, f.Validate()
}

// Validate refuses a cost that is missing, not above 0, or of which nothing says how it was
// measured; and fewer measurements of idle nodes and of changes than their parts need.
func (f *File) Validate() error {
	for _, name := range Names() {
		figure, known := f.Figures[name]
		if !known {
			return fmt.Errorf("%w: %s is missing", ErrCosts, name)
		}
		if err := figure.check(name, figure.Value); err != nil {
			return err
		}
	}
	for _, i := range f.Idle {
		if err := i.check(fmt.Sprintf("%d idle nodes", i.Nodes), float64(i.Nodes), float64(i.Ranges), i.Processor, i.Sent, i.Resident); err != nil {
			return err
		}
	}
	for _, c := range f.Changes {
		if err := c.check("a change", c.Hops, c.Processor); err != nil {
			return err
		}
	}
	if len(f.Idle) < 3 || len(f.Changes) < 2 {
		return fmt.Errorf("%w: %d measurements of idle nodes and %d of changes, want 3 and 2 at least", ErrCosts, len(f.Idle), len(f.Changes))
	}
	return nil
}

func (r Run) check(what string, values ...float64) error {
	for _, v := range values {
		if !(v > 0) || math.IsInf(v, 1) {
			return fmt.Errorf("%w: %s is %v, want more than 0", ErrCosts, what, v)
		}
	}
	if r.Command == "" || r.Measured == "" {
		return fmt.Errorf("%w: %s has no command that measured it, or no day", ErrCosts, what)
	}
	return nil
}

// Now returns the run of this process, by its arguments: go run ./benchmarks/NAME ….
func Now(name string) Run {
	return Run{Command: strings.Join(append([]string{"go run ./benchmarks/" + name}, withoutFiles(os.Args[1:])...), " "), Measured: time.Now().UTC().Format(time.DateOnly)}
}

// withoutFiles leaves out the flags that say where results go.
func withoutFiles(args []string) (kept []string) {
	for i := 0; i < len(args); i++ {
		switch name := strings.TrimLeft(args[i], "-"); name {
		case "costs", "out", "program", "folder", "profiles":
			i++
		default:
			kept = append(kept, args[i])
		}
	}
	return kept
}

// Update has a file changed, which is made if need be; "" is none. What the file has is not
// validated: runs fill it one by one.
func Update(name string, change func(f *File)) error {
	if name == "" {
		return nil
	}
	f := new(File)
	text, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(text, f)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read costs: %w", err)
	}
	if f.Figures == nil {
		f.Figures = make(map[string]Figure)
	}
	change(f)
	if text, err = json.MarshalIndent(f, "", "  "); err != nil {
		return err
	}
	return os.WriteFile(name, append(text, '\n'), 0o644)
}

// Put sets a figure.
func (f *File) Put(name string, value float64, unit string, run Run) {
	f.Figures[name] = Figure{Value: value, Unit: unit, Run: run}
}

// PutIdle sets what idle nodes cost, in the place of those of the same nodes and ranges.
func (f *File) PutIdle(i Idle) {
	f.Idle = slices.DeleteFunc(f.Idle, func(old Idle) bool { return old.Nodes == i.Nodes && old.Ranges == i.Ranges })
	f.Idle = append(f.Idle, i)
	slices.SortFunc(f.Idle, func(a, b Idle) int { return cmp.Or(cmp.Compare(a.Nodes, b.Nodes), cmp.Compare(a.Ranges, b.Ranges)) })
}

// PutChange sets what a change costs, in the place of what the same command found.
func (f *File) PutChange(c Change) {
	f.Changes = slices.DeleteFunc(f.Changes, func(old Change) bool { return old.Command == c.Command })
	f.Changes = append(f.Changes, c)
	slices.SortFunc(f.Changes, func(a, b Change) int { return cmp.Compare(a.Hops, b.Hops) })
}
