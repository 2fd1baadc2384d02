package track

import (
	"math"
	"time"

	"github.com/seed-91e7e7c1/corona/loadgen/result"
	"github.com/seed-91e7e7c1/corona/loadgen/truth"
)

// stand is how many planned gaps a change must stand to be due.
const stand = 2

// change is one in the window.
type change struct {
	channel  int
	revision int64
	at       int64
}

// changes yields those of the window.
func (t *Tracker) changes(yield func(change) bool) {
	begin, end := time.Unix(0, t.window.begin.Load()), time.Unix(0, t.window.end.Load())
	schedule := t.config.Schedule
	for channel := range t.channels {
		if !t.lives(channel) {
			continue
		}
		last := schedule.Revision(channel, end.Add(-1))
		for revision := schedule.Revision(channel, begin.Add(-1)) + 1; revision <= last; revision++ {
			if !yield(change{channel, revision, schedule.ChangedAt(channel, revision).UnixNano()}) {
				return
			}
		}
	}
}

// lives reports whether a channel has subscriptions, and a host that is well: one that no node
// asks is judged, too.
func (t *Tracker) lives(channel int) bool {
	if !t.config.Schedule.Well(t.config.Schedule.HostOf(channel)) {
		return false
	}
	lock := t.lock(channel)
	lock.Lock()
	defer lock.Unlock()
	return len(t.channels[channel].subs) > 0
}

// due reports whether a change stood long enough until an instant to be seen.
func (t *Tracker) due(c change, until int64) bool {
	last := min(t.config.Schedule.ChangedAt(c.channel, c.revision+int64(t.config.Schedule.Window(c.channel))).UnixNano(), until)
	gap := t.longestGap(c.channel, c.at, last)
	return gap > 0 && last-c.at-t.disturbed.overlap(c.at, last) >= int64(stand*gap*1e9)
}

// longestGap returns the longest gap of channels like one that was planned at some time
// from one instant to another, in seconds; 0: none.
func (t *Tracker) longestGap(channel int, from, to int64) (longest float64) {
	all := t.plans.Load()
	if all == nil {
		return 0
	}
	for i, p := range *all {
		ended := i+1 < len(*all) && (*all)[i+1].from <= from
		if !ended && (i == 0 || p.from <= to) {
			longest = max(longest, p.longest[channel])
		}
	}
	return longest
}

// Waiting returns the number of changes of the window that have not yet arrived at all of
// their subscriptions.
func (t *Tracker) Waiting() (waiting int) {
	for c := range t.changes {
		lock := t.lock(c.channel)
		lock.Lock()
		if t.lacking(c) > 0 {
			waiting++
		}
		lock.Unlock()
	}
	return waiting
}

// lacking returns how many subscriptions have not got a change that is due to them.
func (t *Tracker) lacking(c change) (n int64) {
	for _, s := range t.channels[c.channel].subs {
		left := s.until != 0 && !t.due(c, s.until)
		if !s.sick && !left && s.since < c.at && !s.has(c.revision) {
			n++
		}
	}
	return n
}

// Judge fills in what the tracker knows of a run that ended at an instant, when nothing
// arrives any more. It is called once.
func (t *Tracker) Judge(r *result.Result, ended time.Time) Plots {
	detection, gaps := NewHistogram(), []float64(nil)
	for c := range t.changes {
		if t.judge(r, c, detection, ended.UnixNano()) {
			if gap := t.plannedGap(c.channel, c.at); gap > 0 {
				gaps = append(gaps, gap*1000)
			}
		}
	}
	t.openGaps()
	t.openCrowds(ended.UnixNano())
	t.fill(r)
	waits := truth.NewWaits(gaps)
	r.Detection.Spread = detection.Spread()
	r.Detection.Planned = result.Planned{P50: waits.Quantile(0.5), P90: waits.Quantile(0.9), P99: waits.Quantile(0.99), Mean: waits.Mean()}
	r.Delivery = t.delivery.Spread()
	return Plots{Detection: detection.percentiles(), Planned: plot(waits), Delivery: t.delivery.percentiles(), Lateness: t.lateness.percentiles()}
}

// judge judges a change, and reports whether it counts in the distribution of detection: one
// that was due and not detected has waited until the end.
func (t *Tracker) judge(r *result.Result, c change, detection *Histogram, ended int64) (counts bool) {
	lock := t.lock(c.channel)
	lock.Lock()
	defer lock.Unlock()
	r.UpdatesPublished++
	took := ended - c.at
	sentAt, detected := t.channels[c.channel].sentAt(c.revision)
	due := t.due(c, ended)
	if detected {
		took = sentAt - c.at
		r.UpdatesDetected++
	}
	t.judgeArrival(r, c, due, sentAt, ended)
	if !detected && !due {
		return false
	}
	detection.Record(time.Duration(took))
	t.Series.detect(c.at, time.Duration(took))
	return true
}

// judgeArrival counts who did not get a change. A change that was sent and never arrived
// has been on its way until the end.
func (t *Tracker) judgeArrival(r *result.Result, c change, due bool, sentAt, ended int64) {
	lacking := t.lacking(c)
	if lacking == 0 || !due {
		return
	}
	r.UpdatesMissed++
	r.DeliveriesMissing += lacking
	for range lacking {
		if sentAt > 0 {
			t.delivery.Record(time.Duration(ended - sentAt))
		}
	}
}

// plannedGap returns the gap of a channel that was planned at an instant, in seconds; 0:
// none.
func (t *Tracker) plannedGap(channel int, at int64) (gap float64) {
	if all := t.plans.Load(); all != nil {
		for i, p := range *all {
			if i == 0 || p.from <= at {
				gap = p.gaps[channel]
			}
		}
	}
	return gap
}

// openGaps counts polls left out since the last poll of each channel.
func (t *Tracker) openGaps() {
	plan, end := t.plan(), t.window.end.Load()
	if plan == nil {
		return
	}
	for channel := range t.channels {
		if t.openGap(plan, channel, end) {
			t.counts.skipped.Add(1)
		}
	}
}

func (t *Tracker) openGap(plan *plan, channel int, end int64) bool {
	lock := t.lock(channel)
	lock.Lock()
	defer lock.Unlock()
	c, longest := &t.channels[channel], plan.longest[channel]
	from := max(c.last, t.window.begin.Load(), plan.from+int64(settle))
	if longest == 0 || t.excused(c, channel, from, end) {
		return false
	}
	return float64(end-from)/1e9 > skipped*longest
}

// openCrowds counts crowds whose rates have not been seen: as having waited until the end.
func (t *Tracker) openCrowds(ended int64) {
	for i := range t.channels {
		lock := t.lock(i)
		lock.Lock()
		if crowd := t.channels[i].crowd; crowd != 0 {
			raise(&t.counts.crowd, ended-crowd)
		}
		lock.Unlock()
	}
}

// fill copies the counts.
func (t *Tracker) fill(r *result.Result) {
	r.Polls = t.counts.polls.Load()
	seconds := time.Duration(t.window.end.Load() - t.window.begin.Load()).Seconds()
	if seconds > 0 {
		r.PollsPerS = float64(r.Polls) / seconds
	}
	if r.Polls > 0 {
		r.NotModifiedRatio = float64(t.counts.notModified.Load()) / float64(r.Polls)
	}
	r.OriginBytes = t.counts.bytes.Load()
	r.Deliveries, r.Duplicates, r.OutOfOrder = t.counts.deliveries.Load(), t.counts.duplicates.Load(), t.counts.outOfOrder.Load()
	r.PollsSkipped, r.FloorViolations = t.counts.skipped.Load(), t.counts.floors.Load()
	r.Crowd = float64(t.counts.crowd.Load()) / 1e6
	r.Lateness = result.Lateness{P50: t.lateness.quantile(50), P99: t.lateness.quantile(99)}
	t.falsely.Range(func(_, at any) bool {
		if t.within(at.(int64)) {
			r.UpdatesFalse++
		}
		return true
	})
}

// MeanWait returns how long a change waited on average over subscribers, by the gaps of
// the window, in seconds; by channel NaN where there was no gap.
func (t *Tracker) MeanWait() []float64 {
	waits := make([]float64, len(t.channels))
	for i := range t.channels {
		waits[i] = t.meanWait(i)
	}
	return waits
}

func (t *Tracker) meanWait(channel int) float64 {
	lock := t.lock(channel)
	lock.Lock()
	defer lock.Unlock()
	c := &t.channels[channel]
	if c.gaps == 0 {
		return math.NaN()
	}
	return c.squares / (2 * c.gaps)
}

// Plots are percentile plots.
type Plots struct {
	Detection []Percentile `json:"detection"`
	Planned   []Percentile `json:"planned"`
	Delivery  []Percentile `json:"delivery"`
	Lateness  []Percentile `json:"lateness"`
}

// plot draws what is planned at the percentiles that histograms are drawn at.
func plot(waits *truth.Waits) (points []Percentile) {
	for nines := 0.0; nines <= 4; nines += 0.1 {
		q := 1 - math.Pow(10, -nines)
		points = append(points, Percentile{100 * q, waits.Quantile(q)})
	}
	return points
}

// Progress is how far a run is.
type Progress struct {
	Polls, Deliveries, Duplicates, OutOfOrder, Skipped, Floors int64 // of the window
	WorstLateMs                                                float64
}

// Progress returns how far the run is.
func (t *Tracker) Progress() Progress {
	t.lateness.mu.Lock()
	defer t.lateness.mu.Unlock()
	return Progress{
		t.counts.polls.Load(), t.counts.deliveries.Load(), t.counts.duplicates.Load(), t.counts.outOfOrder.Load(),
		t.counts.skipped.Load(), t.counts.floors.Load(), float64(t.lateness.h.Max()) / 1000,
	}
}

// RecentPolls returns the polls of the last whole second before an instant.
func (t *Tracker) RecentPolls(now time.Time) int64 {
	return t.Series.at(now.Add(-time.Second).UnixNano()).polls.Load()
}
