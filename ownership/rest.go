package ownership

import (
	"context"

	"github.com/seed-91e7e7c1/corona/channel"
)

// Rest has hosts of one range rest, each at least until its time, a day at most; those
// rest already of which a rest adds less than a second and no refusal. It returns how
// many were committed. A call may hold up to 1,000.
func (w *writes) Rest(ctx context.Context, r channel.Range, rests []channel.Rest) (committed int, err error) {
	command, adding, err := w.state.NewRest(rests, w.now())
	if err != nil || adding == 0 {
		return 0, err
	}
	return adding, w.doHere(ctx, w.of(r.From), command)
}

// RestsIn returns the hosts of a range that rest, in the order of their IDs.
func (w *writes) RestsIn(r channel.Range) (rests []channel.Rest, err error) {
	return w.state.Rests(r, w.now())
}
