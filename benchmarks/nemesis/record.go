//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/witness"
)

// record is what became of a seed: a line of JSON in a file, to which several runs may add.
type record struct {
	Seed    uint64            `json:"seed"`
	At      time.Time         `json:"at"` // its beginning
	Seconds float64           `json:"seconds"`
	Faults  int               `json:"faults"`
	Acked   int               `json:"acked"` // writes that were acknowledged
	Near    int               `json:"near"`  // of Acked, soon after the beginning of a fault
	Kinds   map[string]counts `json:"kinds"` // by name
	Nodes   int               `json:"nodes"` // that there ever were
	Failed  string            `json:"failed,omitempty"`
}

// counts are those of a kind of fault.
type counts struct {
	Faults int `json:"faults"`
	Near   int `json:"near"` // acknowledgements soon after the beginning of one
}

// newRecord makes the record of a seed that is over.
func newRecord(r *run, err error) *record {
	k := &record{
		Seed: r.seed, At: r.recorder.Began.UTC().Truncate(time.Second), Seconds: r.recorder.Now().Seconds(),
		Faults: len(r.faults), Kinds: make(map[string]counts),
	}
	if err != nil {
		k.Failed, _, _ = strings.Cut(err.Error(), "\n")
	}
	if r.cluster != nil {
		k.Nodes = len(r.cluster.Nodes)
	}
	for _, f := range r.faults {
		of := k.Kinds[f.kind]
		of.Faults++
		k.Kinds[f.kind] = of
	}
	r.recorder.With(func(h *witness.History) {
		for _, wish := range h.Subscribes {
			k.count(r.faults, wish.Attempts)
			k.count(r.faults, wish.Deletes)
		}
	})
	return k
}

// count counts the attempts that were acknowledged, and those soon after the beginning of
// faults; one counts for each kind once.
func (k *record) count(faults []*fault, attempts []witness.Attempt) {
	for _, a := range attempts {
		if a.Outcome != witness.Acked {
			continue
		}
		k.Acked++
		near := make(map[string]bool)
		for _, f := range faults {
			if a.Done >= f.from && a.Done-f.from <= soon {
				near[f.kind] = true
			}
		}
		if len(near) > 0 {
			k.Near++
		}
		for kind := range near {
			of := k.Kinds[kind]
			of.Near++
			k.Kinds[kind] = of
		}
	}
}

// totals are the records of several seeds.
type totals []*record

// add prints what became of a seed, and adds that, to a file too unless it has no name.
func (t *totals) add(r *run, err error, file string) error {
	k := newRecord(r, err)
	r.tellCounts(k)
	*t = append(*t, k)
	if file == "" || k.Failed != "" && !errors.Is(err, errViolated) {
		return nil
	}
	line, err := json.Marshal(k)
	if err != nil {
		return err
	}
	out, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = out.Write(append(line, '\n'))
	return errors.Join(err, out.Close())
}

// readRecords reads files of records.
func readRecords(files ...string) (t totals, err error) {
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		for lines := json.NewDecoder(file); ; {
			k := new(record)
			err = lines.Decode(k)
			if err != nil {
				break
			}
			t = append(t, k)
		}
		if err := errors.Join(unless(err, io.EOF), file.Close()); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return t, nil
}

// unless returns an error that is not another one.
func unless(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

// String is a table of the kinds of faults, a line for each seed, and the sum.
func (t totals) String() string {
	var sum record
	var took time.Duration
	var b, seeds strings.Builder
	byKind, failed := make(map[string]counts), 0
	for _, k := range t {
		verdict := "every rule holds"
		if k.Failed != "" {
			failed, verdict = failed+1, "FAILED: "+k.Failed
		}
		lasted := time.Duration(k.Seconds * float64(time.Second)).Round(time.Second)
		fmt.Fprintf(&seeds, "seed %d, %s, %s: %d faults, %d nodes, %d acknowledgements, %d of them within %s of a fault; %s\n",
			k.Seed, k.At.Format(time.DateTime), lasted, k.Faults, k.Nodes, k.Acked, k.Near, soon, verdict)
		sum.Faults, sum.Acked, sum.Near, took = sum.Faults+k.Faults, sum.Acked+k.Acked, sum.Near+k.Near, took+lasted
		for name, of := range k.Kinds {
			all := byKind[name]
			byKind[name] = counts{all.Faults + of.Faults, all.Near + of.Near}
		}
	}
	fmt.Fprintf(&b, "%-9s %7s  acknowledgements within %s of one\n", "fault", "times", soon)
	for _, k := range kinds {
		if of := byKind[k.name]; of.Faults > 0 {
			fmt.Fprintf(&b, "%-9s %7d  %d\n", k.name, of.Faults, of.Near)
		}
	}
	b.WriteString(seeds.String())
	verdict := "every rule holds"
	if failed > 0 {
		verdict = fmt.Sprintf("%d seeds FAILED", failed)
	}
	fmt.Fprintf(&b, "%d seeds: %d faults, %d acknowledgements, %d (%d %%) of them within %s of a fault; %s; %s",
		len(t), sum.Faults, sum.Acked, sum.Near, 100*sum.Near/max(sum.Acked, 1), soon, verdict, took)
	return b.String()
}
