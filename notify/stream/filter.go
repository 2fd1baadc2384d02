package stream

import (
	"cmp"
	"slices"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
)

// filter chooses what a stream carries.
type filter struct {
	all       bool
	byChannel map[channel.ID][]selector
}

// selector chooses updates of one channel: those of a subscription from its first
// version on, or all behind a cursor.
type selector struct {
	sub   string // empty: the channel itself
	from  uint64
	after channel.Cursor
}

func newFilter(chosen api.StreamFilter) filter {
	return filter{
		all:       len(chosen.Channels) == 0 && len(chosen.Subscriptions) == 0,
		byChannel: make(map[channel.ID][]selector),
	}
}

func (f *filter) add(id channel.ID, w selector) { f.byChannel[id] = append(f.byChannel[id], w) }

// matches reports whether an update, or the notice that the channel is gone after a
// version, is chosen. The notice is news to a subscription that waits for the next
// version.
func (f *filter) matches(id channel.ID, version uint64, gone bool, at channel.Cursor) bool {
	if f.all {
		return true
	}
	if gone {
		version = max(version, 1) + 1 // version 1 is told to nobody, and may not have come
	}
	return slices.ContainsFunc(f.byChannel[id], func(w selector) bool { return version >= w.from && w.after.Less(at) })
}

// drop removes a subscription.
func (f *filter) drop(sub string) {
	for id, wants := range f.byChannel {
		wants = slices.DeleteFunc(wants, func(w selector) bool { return w.sub == sub })
		f.byChannel[id] = wants
		if len(wants) == 0 {
			delete(f.byChannel, id)
		}
	}
}

// firsts returns the chosen channels with the first version that is wanted of each.
func (f *filter) firsts() map[channel.ID]uint64 {
	out := make(map[channel.ID]uint64, len(f.byChannel))
	for id, wants := range f.byChannel {
		out[id] = slices.MinFunc(wants, func(a, b selector) int { return cmp.Compare(a.from, b.from) }).from
	}
	return out
}

// subs returns the subscriptions that are left.
func (f *filter) subs() []string {
	var out []string
	for _, wants := range f.byChannel {
		for _, w := range wants {
			if w.sub != "" {
				out = append(out, w.sub)
			}
		}
	}
	return out
}

// empty reports whether nothing can be chosen any more.
func (f *filter) empty() bool { return !f.all && len(f.byChannel) == 0 }
