package codec

import (
	"bytes"
	"errors"
	"sync"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/diff"
)

// A script says which of the base's lines to leave out and what to put in their
// place. What is put in is coded by a predictor that knows the base (DESIGN.md,
// "Delta").

// maxScript is how many bytes a script may put in: coding takes up to about a
// microsecond for each.
const maxScript = 64 << 10

// studied is how much of the base is learned before anything is coded, in bytes: up
// to studiedPerLine for each line put in.
const (
	studied        = 4 << 10
	studiedPerLine = 128
)

var errScript = errors.New("script does not fit its base")

// predictors are kept for reuse: each is 1.2 MB.
var predictors = sync.Pool{New: func() any { return new(predictor) }}

// step is a hunk of a script.
type step struct {
	kept    int    // lines before it that stay
	omitted int    // lines left out
	added   int    // lines put in
	text    []byte // the lines put in
}

// makeSteps returns the script from base to next; false if it would put in too much.
func makeSteps(base, next []byte) ([]step, bool) {
	var steps []step
	at, size := 0, 0
	for _, h := range diff.Hunks(base, next) {
		steps = append(steps, step{kept: h.OldLine - at, omitted: h.Omitted, added: h.Added, text: h.New})
		at = h.OldLine + h.Omitted
		size += len(h.New)
	}
	return steps, size <= maxScript && len(steps) <= content.MaxLines
}

// encodeSteps codes a script for base.
func encodeSteps(w *bitWriter, base []byte, steps []step) {
	codeShape(w, &steps)
	places, err := placesOf(base, steps)
	if err != nil {
		panic("deltas: script of another base") // made of hunks of this one
	}
	eachText(base, steps, places, func(p *predictor, s *step) {
		for _, c := range s.text {
			p.code(w, c)
		}
	})
}

// decodeSteps reads a script for base and returns what it makes of it.
func decodeSteps(r *bitReader, base []byte) ([]byte, error) {
	var steps []step
	if codeShape(r, &steps); r.cut() {
		return nil, errScript
	}
	places, err := placesOf(base, steps)
	if err != nil {
		return nil, err
	}
	left := maxScript
	eachText(base, steps, places, func(p *predictor, s *step) {
		lines := 0
		for ; lines < s.added && left > 0 && !r.cut(); left-- {
			c := p.code(r, 0)
			s.text = append(s.text, c)
			lines += toBit(c == '\n')
		}
		if lines < s.added {
			left = 0
			err = errScript
		}
	})
	if err != nil || r.cut() {
		return nil, errScript
	}
	return applySteps(base, steps, places), nil
}

// codeShape codes all of the steps but the text.
func codeShape(c coder, steps *[]step) {
	var shapes shapeCoder
	count := shapes.counts.code(c, len(*steps))
	if *steps == nil && count <= content.MaxLines {
		*steps = make([]step, 0, min(count, 1024))
	}
	for i := range count {
		if r, reads := c.(*bitReader); reads && (r.cut() || i >= content.MaxLines) {
			return
		} else if reads {
			*steps = append(*steps, step{})
		}
		shapes.code(c, &(*steps)[i])
	}
}

// shapeCoder codes steps: where a script changes the numbers of every entry, the
// same few lines lie between them.
type shapeCoder struct {
	counts numbers
	kept   [8]numbers // by what was kept before the last step
	omits  [8]numbers // by what is kept
	adds   [4]numbers // by what is omitted
	last   int        // kept, at most 7
}

func (o *shapeCoder) code(c coder, s *step) {
	s.kept = o.kept[o.last].code(c, s.kept)
	o.last = min(s.kept, len(o.kept)-1)
	s.omitted = o.omits[o.last].code(c, s.omitted)
	s.added = o.adds[min(s.omitted, len(o.adds)-1)].code(c, s.added)
}

// place is where the omitted lines of a step stand in the base, in bytes.
type place struct{ from, to int }

// placesOf finds the steps' lines in base.
func placesOf(base []byte, steps []step) ([]place, error) {
	places := make([]place, len(steps))
	at := 0
	for i, s := range steps {
		var ok bool
		if places[i].from, ok = skipLines(base, at, s.kept); !ok {
			return nil, errScript
		}
		if places[i].to, ok = skipLines(base, places[i].from, s.omitted); !ok {
			return nil, errScript
		}
		at = places[i].to
	}
	return places, nil
}

// skipLines returns where the line begins that is count lines behind the one at at.
func skipLines(text []byte, at, count int) (int, bool) {
	for range count {
		end := bytes.IndexByte(text[at:], '\n')
		if end < 0 {
			return 0, false
		}
		at += end + 1
	}
	return at, true
}

// eachText calls f, in turn, for each step that puts something in, with a predictor
// that expects it.
func eachText(base []byte, steps []step, places []place, f func(*predictor, *step)) {
	lines := 0
	for i := range steps {
		lines = min(lines+steps[i].added, content.MaxLines)
	}
	if lines == 0 {
		return
	}
	p := predictors.Get().(*predictor)
	defer predictors.Put(p)
	p.reset(base)
	p.studyAround(base, places, min(studied, studiedPerLine*lines))
	for i := range steps {
		if steps[i].added > 0 {
			p.expectAt(places[i].from)
			p.follow(base[:places[i].from])
			f(p, &steps[i])
		}
	}
}

// studyAround learns most bytes of the base, those before the places where
// something is put in, as much before each.
func (p *predictor) studyAround(base []byte, places []place, most int) {
	share, last := most/len(places), 0
	for _, s := range places {
		from := max(last, s.to-share)
		p.study(base[from:s.to])
		most -= s.to - from
		last = s.to
	}
	p.study(base[last:min(len(base), last+max(most, 0))])
}

// applySteps returns base with the steps taken.
func applySteps(base []byte, steps []step, places []place) []byte {
	next := make([]byte, 0, len(base)+maxScript/16)
	at := 0
	for i, s := range steps {
		next = append(append(next, base[at:places[i].from]...), s.text...)
		at = places[i].to
	}
	return append(next, base[at:]...)
}
