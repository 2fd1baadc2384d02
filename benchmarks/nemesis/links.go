//go:build linux

package main

import (
	"context"
	"errors"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/cluster"
	"github.com/seed-91e7e7c1/corona/benchmarks/internal/witness"
)

func (n *nemesis) oneWay(ctx context.Context, f *fault) error {
	from, to := f.others[:1], f.others[1:]
	if f.random.IntN(2) == 0 {
		to = to[:1]
	}
	f.tell(from...)
	f.what += " to"
	f.tell(to...)
	return n.dropped(ctx, f, from, to)
}

func (n *nemesis) cut(ctx context.Context, f *fault) error {
	two := f.others[:2]
	f.tell(two...)
	return n.dropped(ctx, f, two, two)
}

func (n *nemesis) isolate(ctx context.Context, f *fault) error {
	f.tell(f.others[0])
	return n.dropped(ctx, f, f.others, f.others[:1], f.others[1:]...)
}

// dropped drops what some nodes send to others, and what the others send to those behind
// them, until the fault's time is over.
func (n *nemesis) dropped(ctx context.Context, f *fault, from, to []*cluster.Node, back ...*cluster.Node) (err error) {
	type pair struct{ from, to *cluster.Node }
	var pairs []pair
	between := func(from, to []*cluster.Node) {
		for _, a := range from {
			for _, b := range to {
				if a != b {
					pairs = append(pairs, pair{a, b})
				}
			}
		}
	}
	between(from, to)
	between(to, back)
	for _, p := range pairs {
		err = errors.Join(err, n.cluster.Cut(p.from, p.to))
	}
	if err == nil {
		witness.Pause(ctx, f.length)
	}
	for _, p := range pairs {
		err = errors.Join(err, n.cluster.Heal(p.from, p.to))
	}
	return err
}
