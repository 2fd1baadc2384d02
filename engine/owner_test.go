package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
)

// owned is what the fake owner has committed of a channel.
type owned struct {
	version uint64
	core    *deltas.Core
	held    deltas.Hash // candidate
	hold    bool        // the next change is a candidate first
	fail    bool
	end     bool
	decline bool
	lend    bool // answers to stale bases carry the content

	movedTo    string
	movedSince time.Time
	learned    bool
}

// Report implements [Owner].
func (w *world) Report(ctx context.Context, r Report) (Answer, error) {
	w.mu.Lock()
	judge := w.owner
	if judge == nil {
		judge = w.judge
	}
	w.mu.Unlock()
	answer, err := judge(r)
	w.note(w.nameOfID(r.Channel), "report %s: %s", reportText(r), answerText(answer, err))
	return answer, err
}

var errLease = errors.New("the lease has lapsed")

// Leased implements [Owner].
func (w *world) Leased(channel.ID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.lapsed
}

// Bound implements [Owner].
func (w *world) Bound(id channel.ID, _ uint64, atLeast time.Duration) {
	w.note(w.nameOfID(id), "bound %s", atLeast)
}

// Sized implements [Owner].
func (w *world) Sized(id channel.ID, _ uint64, bytes int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sizes[id] = append(w.sizes[id], bytes)
}

// Moved implements [Owner]: it learns what has held for its hold.
func (w *world) Moved(_ context.Context, m Move) error {
	w.note(w.nameOfID(m.Channel), "moved to=%s since=%.3f kind=%s foreign=%v learned=%v", nameOf(m.To), max(0, m.Since.Sub(w.start).Seconds()), m.Kind, m.Foreign, m.Learned)
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.own(m.Channel)
	switch {
	case m.Foreign:
		o.movedTo, o.movedSince, o.learned = m.To, time.Time{}, false
	case m.To == o.movedTo && m.To != "":
		o.learned = !m.At.Before(o.movedSince.Add(movedHold))
	default:
		o.movedTo, o.movedSince, o.learned = m.To, m.Since, false
	}
	return nil
}

// movedHold is how long the owner of these tests waits.
const movedHold = 5 * time.Minute

var errOwner = errors.New("no majority")

// judge is an owner that publishes whatever differs, unless told otherwise.
func (w *world) judge(r Report) (Answer, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.own(r.Channel)
	switch {
	case o.fail:
		return Answer{}, errOwner
	case o.end, r.Gone:
		return Answer{Ended: true}, nil
	case r.BaseVersion != o.version:
		return o.stale(), nil
	case r.Core == nil || r.Core.Hash == o.hash():
		o.held = deltas.Hash{}
	case o.hold && o.held != r.Core.Hash:
		o.held = r.Core.Hash
	case !o.decline:
		o.version, o.core, o.held = o.version+1, r.Core, deltas.Hash{}
	}
	return Answer{Version: o.version, Hash: o.hash(), Held: o.held != deltas.Hash{}}, nil
}

func (o *owned) stale() Answer {
	a := Answer{Version: o.version, Hash: o.hash(), Held: o.held != deltas.Hash{}}
	if o.lend {
		a.Current = o.core
	}
	return a
}

func (o *owned) hash() deltas.Hash {
	if o.core == nil {
		return deltas.Hash{}
	}
	return o.core.Hash
}

// own returns the owner's state of a channel. The caller holds mu.
func (w *world) own(id channel.ID) *owned {
	if w.owned[id] == nil {
		w.owned[id] = &owned{}
	}
	return w.owned[id]
}

func reportText(r Report) string {
	base := fmt.Sprintf("base=%d", r.BaseVersion)
	if r.Base != nil {
		base += "(" + saying(r.Base) + ")"
	}
	switch {
	case r.Gone:
		return "gone"
	case r.Core == nil:
		return base + " stands"
	}
	return base + " shows " + saying(r.Core)
}

// saying returns the last line of content, which in these tests is all there is.
func saying(core *deltas.Core) string {
	lines := strings.Split(strings.TrimSpace(string(core.Content())), "\n")
	return lines[len(lines)-1]
}

func answerText(a Answer, err error) string {
	switch {
	case err != nil:
		return err.Error()
	case a.Ended:
		return "ended"
	case a.Held:
		return fmt.Sprintf("version %d, held", a.Version)
	}
	return fmt.Sprintf("version %d", a.Version)
}
