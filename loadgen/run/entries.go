package run

import (
	"time"

	"github.com/seed-91e7e7c1/corona/loadgen"
	"github.com/seed-91e7e7c1/corona/loadgen/entries"
)

// recorded is the schedule of recorded documents as a tracker has it: no change is known, since
// not each capture is one to a reader. What is to arrive is known by its entries.
type recorded struct{ *loadgen.Origin }

func (recorded) Revision(int, time.Time) int64 { return 1 }
func (recorded) Window(int) int                { return 1 }

// readEntries finds what is new in the documents' captures.
func (r *run) readEntries() {
	channels := make([]map[string]int64, r.origin.Channels())
	for n := range channels {
		channels[n] = entries.Fresh(r.origin.Trace(n))
	}
	r.entries = entries.New(channels)
}

// judgeEntries judges what has arrived until now of the window's entries.
func (r *run) judgeEntries() {
	if r.entries == nil {
		return
	}
	from, to := r.sampler.window()
	r.result.Entries = r.entries.Judge(from, to, time.Now(), r.origin.ChangedAt)
}
