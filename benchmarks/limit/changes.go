package main

import (
	"context"
	"strconv"
	"time"

	"github.com/seed-91e7e7c1/corona/loadgen"
	"github.com/seed-91e7e7c1/corona/loadgen/scrape"
)

// The node of the changes would poll each channel this often, if it could; the channels
// change once a second then, on average.
const (
	changesGap  = 2 * time.Second
	changesEach = time.Second
)

// change measures a node whose polls find changes. Its channels are those that change once a
// week in the schedule, about half of all.
func (w *world) change(ctx context.Context, r *result) error {
	schedule, week := loadgen.Schedule{Seed: w.seed}, 7*24*time.Hour
	o, err := w.startOrigin(ctx, 3*w.channels, float64(week)/float64(changesEach))
	if err != nil {
		return err
	}
	defer o.Close()
	var urls []string
	for channel, url := range o.urls {
		if len(urls) < w.channels && schedule.Interval(channel) == week {
			urls = append(urls, url)
		}
	}
	budget := strconv.Itoa(len(urls) * int(planInterval/changesGap))
	n, err := w.startNode(ctx, urls, "--interval", planInterval.String(), "--floor", "1ms", "--budget", budget)
	if err != nil {
		return err
	}
	defer n.Close()
	if err := pause(ctx, settle); err != nil {
		return err
	}
	s, err := w.watch(ctx, kindNode, o, n.Process, n.url, func(m scrape.Metrics) float64 { return m.Sum(pollsTotal, `outcome="changed"`) })
	if err != nil {
		return err
	}
	r.Changes = &s
	r.Thresholds = append(r.Thresholds, atLeast("versions a second of the node's processor time", 1000, s.Requests/s.CPU))
	return n.Stop()
}
