package corona

import "time"

// File descriptors are shared out, so that no part of a node finds none left
// because another took them all. Of maxDescriptors, or of the process's limit if
// that is lower (ulimit -n), polling gets what otherDescriptors leave, and a
// quarter at least:
//
//	3,072  connections of the HTTP API (server.Config.MaxConns)
//	3,072  webhooks: 2,048 under way, 1,024 idle (notify)
//	2,500  tables of three pebble stores, logs, bbolt
//	  868  DNS lookups, profiles, the listener, standard streams, room
const (
	maxDescriptors   = 20_000
	otherDescriptors = 9_512
)

// pollConns returns how many connections polling may have open.
func pollConns(limit uint64) int {
	all := int(min(limit, maxDescriptors))
	return max(all-otherDescriptors, all/4, 1)
}

const (
	// originsKeep is how long origins commonly keep an idle connection.
	originsKeep = 75 * time.Second
	// crowdKeep is how long one is kept for the other channels of its host.
	crowdKeep = 30 * time.Second
)

// idleConn returns how long a connection is kept for its host's next poll: until
// the channel that it served is due again, if origins keep it so long. Otherwise
// only a host with many channels is asked again in time.
func idleConn(interval time.Duration) time.Duration {
	const slack = 5 * time.Second // polls come late
	if interval+slack <= originsKeep {
		return interval + slack
	}
	return crowdKeep
}
