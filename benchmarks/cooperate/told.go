//go:build linux

package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
)

// told is what the nodes have told of changes, whichever node did.
type told struct {
	began  time.Time
	number map[channel.ID]int

	mu struct {
		sync.Mutex
		versions map[version]telling
		received []receipt
		wrong    []string // what cannot be, or ended a stream
	}
}

// receipt is one stream's getting an update.
type receipt struct {
	at    time.Duration // since the beginning
	after time.Duration // its owner had decided on it
}

// version is a version of a channel.
type version struct {
	channel int
	version uint64
}

// telling is what a version was told to be.
type telling struct {
	at           time.Duration // since the beginning, first
	entries      []int         // that were added
	from, newest int           // the lowest and highest of them
	digest       uint64        // of entries and difference
}

func newTold(began time.Time, places []place) *told {
	t := &told{began: began, number: make(map[channel.ID]int, len(places))}
	for n, p := range places {
		t.number[p.id] = n
	}
	t.mu.versions = make(map[version]telling)
	return t
}

// read reads a node's stream of all updates until the context ends.
func (t *told) read(ctx context.Context, client *api.Client, node string) {
	for event, err := range client.Follow(ctx, api.StreamFilter{}, "", nil) {
		switch {
		case err != nil:
			t.fail(fmt.Errorf("stream of %s: %w", node, err))
		case event.Type == api.StreamUpdate:
			if update, err := event.Update(); err != nil {
				t.fail(err)
			} else if err := t.take(&update, node, time.Since(t.began)); err != nil {
				t.fail(err)
			}
		case event.Type == api.StreamGap || event.Type == api.StreamGone:
			t.fail(fmt.Errorf("stream of %s: event %s: %s", node, event.Type, event.Data))
		}
	}
}

func (t *told) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.wrong = append(t.mu.wrong, err.Error())
}

// take notes an update.
func (t *told) take(update *api.Update, node string, at time.Duration) error {
	number, known := t.number[update.Channel]
	if !known {
		return fmt.Errorf("stream of %s: channel %s, which has no subscription", node, update.Channel)
	}
	told := telling{at: at}
	digest := fnv.New64a()
	fmt.Fprint(digest, update.Diff)
	for i, added := range update.Entries.Added {
		of, entry, err := parseEntry(added.ID)
		if err != nil || of != number {
			return fmt.Errorf("stream of %s: channel %d is told entry %q", node, number, added.ID)
		}
		fmt.Fprintln(digest, added.ID)
		told.entries = append(told.entries, entry)
		if i == 0 {
			told.from, told.newest = entry, entry
		}
		told.from, told.newest = min(told.from, entry), max(told.newest, entry)
	}
	told.digest = digest.Sum64()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.received = append(t.mu.received, receipt{at, time.Since(update.DetectedAt)})
	key := version{number, update.Version}
	first, again := t.mu.versions[key]
	switch {
	case !again:
		t.mu.versions[key] = told
	case first.digest != told.digest:
		t.mu.wrong = append(t.mu.wrong, fmt.Sprintf("version %d of channel %d has one content, and at %s another", update.Version, number, node))
	}
	return nil
}

// all returns what was told, and what went wrong.
func (t *told) all() (map[version]telling, []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	copied := make(map[version]telling, len(t.mu.versions))
	for key, one := range t.mu.versions {
		copied[key] = one
	}
	return copied, t.mu.wrong
}

// delays returns how long after its owner's decision each update came to each stream
// within a span, sorted.
func (t *told) delays(of span) (delays []time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.mu.received {
		if of.has(r.at) {
			delays = append(delays, r.after)
		}
	}
	slices.Sort(delays)
	return delays
}
