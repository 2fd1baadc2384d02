package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/witness"
)

// errKind is a -faults that cannot be.
var errKind = errors.New("want names of faults, with commas")

// parseKinds reads -faults.
func parseKinds(text string) ([]string, error) {
	wanted := strings.Split(text, ",")
	for _, kind := range wanted {
		if !slices.Contains(witness.Kinds, kind) {
			return nil, fmt.Errorf("-faults %q: %w: %s", kind, errKind, strings.Join(witness.Kinds, ", "))
		}
	}
	slices.SortFunc(wanted, func(a, b string) int { return slices.Index(witness.Kinds, a) - slices.Index(witness.Kinds, b) })
	return slices.Compact(wanted), nil
}

// byDefault are the kinds of a run that names none, as far as they are possible.
var byDefault = []string{witness.KindKill, witness.KindENOSPC, witness.KindEIO}

// possible returns those of the kinds that this machine can make, and why not the
// others.
func possible(wanted []string, canTrace, canMount error) (kinds, leftOut []string) {
	for _, kind := range wanted {
		var err error
		switch kind {
		case witness.KindKill:
		case witness.KindFull:
			err = canMount
		default:
			err = canTrace
		}
		if err != nil {
			leftOut = append(leftOut, fmt.Sprintf("%s: %v", kind, err))
		} else {
			kinds = append(kinds, kind)
		}
	}
	return kinds, leftOut
}

// deck deals the kinds of rounds: of each fault one among killsPerFault kills, in
// an order by chance, and then again in another.
type deck struct {
	random *rand.Rand
	kinds  []string
	left   []string
}

const killsPerFault = 3

func (d *deck) deal() string {
	if len(d.left) == 0 {
		for _, kind := range d.kinds {
			n := 1
			if kind == witness.KindKill {
				n = max(1, killsPerFault*(len(d.kinds)-1))
			}
			d.left = append(d.left, slices.Repeat([]string{kind}, n)...)
		}
		d.random.Shuffle(len(d.left), func(i, j int) { d.left[i], d.left[j] = d.left[j], d.left[i] })
	}
	kind := d.left[0]
	d.left = d.left[1:]
	return kind
}
