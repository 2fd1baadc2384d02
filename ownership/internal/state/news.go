package state

import (
	"slices"
	"sort"
	"sync"

	"github.com/seed-91e7e7c1/corona/channel"
)

// news are a range's updates of the last moments, as streams read them. The followers of
// all nodes read an update soon after it is applied: from the state that takes a search for
// the next stamp of each bucket with news, and three reads for each update.
type news struct {
	mu      sync.Mutex
	from    channel.Cursor   // what lies behind it is in updates
	updates []channel.Update // without patches, in the order of their cursors
	bytes   int              // of their data
}

// The limits of news: what is older than newsFor in microseconds goes when others come.
const (
	newsFor   = 2_000_000
	newsBytes = 1 << 20
)

// reset forgets all updates, up to a stamp that none behind it has.
func (n *news) reset(stamp uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.from, n.updates, n.bytes = channel.EndOf(stamp), nil, 0
}

// add takes in what is written, before the range is closed up to there.
func (n *news) add(updates []channel.Update) {
	if len(updates) == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, u := range updates {
		u.Patch = nil
		at := len(n.updates)
		for at > 0 && u.Cursor().Less(n.updates[at-1].Cursor()) { // an instant before others, if at all
			at--
		}
		n.updates = slices.Insert(n.updates, at, u)
		n.bytes += len(u.Data)
	}
	newest, old := n.updates[len(n.updates)-1].Stamp, 0
	for ; old < len(n.updates) && (n.bytes > newsBytes || n.updates[old].Stamp+newsFor < newest); old++ {
		n.from = n.updates[old].Cursor()
		n.bytes -= len(n.updates[old].Data)
	}
	clear(n.updates[:old]) // or their data would live as long as the array
	n.updates = n.updates[old:]
}

// leave forgets the updates of buckets behind one.
func (n *news) leave(to channel.Bucket) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.updates = slices.DeleteFunc(n.updates, func(u channel.Update) bool {
		gone := u.Channel.Bucket() > to
		if gone {
			n.bytes -= len(u.Data)
		}
		return gone
	})
}

// since returns a page of what lies behind a cursor and is closed, and whether there is
// more; not ok: some of it is only in the state.
func (n *news) since(after channel.Cursor, closed uint64, limit int) (updates []channel.Update, more, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if after.Less(n.from) {
		return nil, false, false
	}
	first := sort.Search(len(n.updates), func(i int) bool { return after.Less(n.updates[i].Cursor()) })
	for _, u := range n.updates[first:] {
		switch {
		case u.Stamp > closed:
			return updates, false, true
		case len(updates) == limit:
			return updates, true, true
		}
		updates = append(updates, u)
	}
	return updates, false, true
}
