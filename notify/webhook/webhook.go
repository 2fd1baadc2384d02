// Package webhook delivers updates to acknowledged sinks.
//
// Each webhook subscription gets its versions in order, at least once: a message
// counts when its endpoint has answered 2xx. How far each channel's subscriptions
// are is a delivery cursor plus stragglers (package position), committed to the
// store in small batches, so that a crash repeats at most the last of them, under
// the same message IDs. Everything with the same URL is one endpoint, with one
// queue and one streak of failures, retried by the schedule of Standard Webhooks.
//
// The parts, from the top; each calls only those below it, and all share one lock
// (core):
//
//	Deliverer     hooks, start and stop
//	takeover      begins with the ranges that this node comes to lead (tenure)
//	workers       turns of channels: load, pass, drain
//	dispatcher    requests under way          recordSaver  commits endpoint records
//	streaks       endpoints' retry state     inquiries    asks keepers of endpoints on other nodes
//	parking       what endpoints do not accept now
//	queues        lanes with a message        saver, scanner  commits positions; finds what no hook announced
//	endpoints     endpoints in memory         channels        channels in memory, and their turns
package webhook

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/notify/internal/metric"
	"github.com/seed-91e7e7c1/corona/notify/payload"
)

// Deliverer delivers what a store commits to webhooks. It is safe for concurrent
// use. Its hooks take no time, may come before and after Run, and may be missed: by
// a crash, for one.
type Deliverer struct {
	core       *core
	takeover   *takeover
	channels   *channels
	scanner    *scanner
	saver      *saver
	endpoints  *endpoints
	queues     *queues
	parking    *parking
	streaks    *streaks
	records    *recordSaver
	inquiries  *inquiries
	dispatcher *dispatcher
	workers    *workers
}

// New returns a deliverer on a store, with a configuration that is valid and whose
// defaults are decided; [Deliverer.Run] starts it.
func New(config Config, store Store, log *slog.Logger, factory *metric.Factory) *Deliverer {
	core := &core{
		config: config, limits: defaultLimits, store: store, log: log,
		metrics: newMetrics(factory), agenda: newAgenda(),
	}
	channels, endpoints := newChannels(core), newEndpoints(core)
	scanner := newScanner(core, channels)
	queues := &queues{core: core, channels: channels}
	parking := &parking{core: core, channels: channels, endpoints: endpoints, queues: queues, scanner: scanner}
	queues.emptied = parking.refillSoon
	inquiries := newInquiries(core, endpoints)
	streaks := &streaks{
		core: core, endpoints: endpoints, queues: queues, parking: parking, inquiries: inquiries, self: rand.Uint64() | 1,
	}
	parking.exhausted, parking.awaits, inquiries.heard = streaks.exhausted, streaks.awaits, streaks.heard
	dispatcher := &dispatcher{
		core: core, caller: newCaller(config), composer: &composer{core: core, cache: payload.NewCache(cacheBytes)},
		channels: channels, endpoints: endpoints, queues: queues, parking: parking, streaks: streaks,
	}
	takeover := &takeover{core: core, streaks: streaks, gained: make(chan struct{}, 1), scan: scanner.request, ending: make(map[*tenure]struct{})}
	return &Deliverer{
		core:     core,
		takeover: takeover,
		channels: channels, scanner: scanner, saver: &saver{core: core, channels: channels, saved: takeover.saved},
		endpoints: endpoints, queues: queues, parking: parking, streaks: streaks, inquiries: inquiries,
		records:    &recordSaver{core: core, endpoints: endpoints, parking: parking},
		dispatcher: dispatcher,
		workers:    &workers{core: core, channels: channels, queues: queues, parking: parking, streaks: streaks, dispatcher: dispatcher},
	}
}

// Run delivers until ctx ends, and returns when everything has stopped and the last
// positions are saved, within a few seconds.
func (d *Deliverer) Run(ctx context.Context) {
	defer d.dispatcher.caller.close()
	defer context.AfterFunc(ctx, d.stop)()
	var all sync.WaitGroup
	for range workerCount {
		all.Go(func() { d.workers.run(ctx) })
	}
	for _, loop := range []func(context.Context){d.keepAgenda, d.takeover.run, d.saver.run, d.records.run, d.scanner.run, d.inquiries.run} {
		all.Go(func() { loop(ctx) })
	}
	all.Wait()
	d.dispatcher.senders.Wait()
	d.saveLast(ctx)
}

func (d *Deliverer) stop() {
	d.core.Lock()
	defer d.core.Unlock()
	d.core.stopped = true
	d.channels.stop()
}

// saveLast saves everything once more, when nothing is under way any longer.
func (d *Deliverer) saveLast(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	d.saver.last(ctx)
	d.records.last(ctx)
}

// keepAgenda does what is due, and starts what it and the hooks made ready.
func (d *Deliverer) keepAgenda(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-d.core.agenda.earlier:
		}
		d.core.Lock()
		next, more := d.core.agenda.run(time.Now())
		d.dispatcher.pump(ctx)
		d.core.Unlock()
		if more {
			timer.Reset(time.Until(next))
		}
	}
}

// RangeGained announces that this node leads a range from now on: it delivers what the
// store says that the subscriptions of its channels still have to get, and what hooks
// announce.
func (d *Deliverer) RangeGained(r channel.Range, _ uint64) {
	d.core.Lock()
	defer d.core.Unlock()
	d.core.led.Set(r, &tenure{Range: r, since: time.Now(), unsaved: make(map[*channelState]struct{})})
	signal(d.takeover.gained)
}

// RangeLost announces that this node does not lead a range any more. Nothing more is
// sent for its channels but what is under way, which counts for nothing: what was not
// committed by now is for the next leader.
func (d *Deliverer) RangeLost(r channel.Range, _ uint64) {
	d.core.Lock()
	defer d.core.Unlock()
	t := d.core.led.Remove(r)
	if t == nil {
		return
	}
	d.takeover.end(t)
	d.streaks.disown(t)
	for _, e := range d.channels.lose(t) {
		d.parking.drained(e)
	}
}

// Committed announces a new update, or the notice that a channel is gone, after
// it is visible in the store, and how many webhooks the channel has: without any there is
// nothing to deliver, and the channel's record need not be read.
func (d *Deliverer) Committed(u channel.Update, webhooks uint64) {
	if webhooks > 0 {
		d.wake(u.Channel)
	}
}

// ChannelChanged announces that a channel's record changed, or that it ended. It is
// how a new subscription of a channel that is gone gets the notice.
func (d *Deliverer) ChannelChanged(c channel.Channel, ended bool) {
	if ended || c.Gone && c.Webhooks > 0 {
		d.wake(c.ID)
	}
}

// wake gives a channel a turn. A wake that finds no room costs a scan.
func (d *Deliverer) wake(id channel.ID) {
	d.core.Lock()
	defer d.core.Unlock()
	if !d.channels.wake(id) {
		d.scanner.requestAll()
	}
}

// Subscribed announces a new subscription: a disabled endpoint works again.
func (d *Deliverer) Subscribed(sub channel.Subscription) {
	if sub.Sink.URL == "" {
		return
	}
	d.core.Lock()
	defer d.core.Unlock()
	d.streaks.subscribed(sub)
}

// Unsubscribed announces a deleted subscription: what it still had to get is not
// sent any more.
func (d *Deliverer) Unsubscribed(sub channel.Subscription) {
	if sub.Sink.URL == "" {
		return
	}
	d.core.Lock()
	defer d.core.Unlock()
	d.channels.unsubscribed(sub)
}

// Test sends a subscription.test message at once, past all queues, and returns nil
// when the endpoint acknowledged it, otherwise a [*CallError]. An acknowledgement
// ends the endpoint's streak of failures; a failure is not part of one. The
// subscription must have a webhook.
func (d *Deliverer) Test(ctx context.Context, sub channel.Subscription) error {
	began := time.Now()
	if err := d.dispatcher.call(ctx, sub, testMessage(sub, began)); err != nil {
		return err
	}
	d.core.Lock()
	defer d.core.Unlock()
	d.streaks.tested(sub.Sink.URL, began)
	return nil
}

// ServeAsk answers what [Config.Ask] of a deliverer, on whichever node, asks about
// endpoints of a range that this node leads.
func (d *Deliverer) ServeAsk(ctx context.Context, r channel.Range, questions []byte) (answers []byte, err error) {
	return d.streaks.serve(ctx, r, questions)
}
