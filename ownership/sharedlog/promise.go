package sharedlog

import (
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// promiseAfter is how long the newest append may stand at the end of the
// write-ahead file. Nothing behind it says that it had been synced, so that damage
// to it looks like a write that a power loss cut.
const promiseAfter = time.Second

// promises writes a promise whenever nothing was synced for a while.
func (l *Log) promises() {
	ticker := time.NewTicker(promiseAfter)
	defer ticker.Stop()
	var seen, promised uint64
	for {
		select {
		case <-l.stopping:
			return
		case <-ticker.C:
		}
		synced := l.synced.Load()
		if synced == seen && synced != promised {
			if l.promise() != nil {
				return
			}
			promised = synced
		}
		seen = synced
	}
}

// promise durably writes a record without content. Like every record it carries how
// far the file had been synced before, as pebble knows it: pebble notes a sync just
// after it wakes the writer, and before the next sync. Right behind an append only
// the second promise is sure to cover it.
func (l *Log) promise() error { return l.wrote(l.db.LogData(nil, pebble.Sync)) }
