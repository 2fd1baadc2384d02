// Package sink holds the subscribers of a load test: an HTTP server that webhooks go to,
// and readers of event streams. They know the contract alone, note when something arrived,
// and hand it on.
package sink

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/seed-91e7e7c1/corona/loadgen"
)

// Arrival is an update that arrived.
type Arrival struct {
	Version   uint64
	Revisions []int64  // of the channel at the origin, that the update adds
	Added     []string // IDs of the entries that it adds
	Diff      bool     // it has one
	At        time.Time
}

// update is what is read of an update, whichever way it came.
type update struct {
	Subscription string `json:"subscription"` // of webhooks
	Channel      string `json:"channel"`
	Version      uint64 `json:"version"`
	Kind         string `json:"kind"`
	Diff         string `json:"diff"`
	Entries      struct {
		Added []struct {
			ID   string `json:"id"`
			Link string `json:"link"`
		} `json:"added"`
	} `json:"entries"`
}

// message is a webhook's body.
type message struct {
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
}

func (u *update) arrival(at time.Time) Arrival {
	a := Arrival{Version: u.Version, Diff: u.Diff != "", At: at}
	for _, entry := range u.Entries.Added {
		a.Added = append(a.Added, entry.ID)
		a.add(entry.Link)
	}
	if u.Kind == "html" {
		a.addLines(u.Diff)
	}
	return a
}

// addLines adds the links of lines that a page gained; the title of an entry that was
// edited stands on such a line too, with the number of an entry that came before.
func (a *Arrival) addLines(diff string) {
	for line := range strings.Lines(diff) {
		if strings.HasPrefix(line, "+") {
			a.add(line)
		}
	}
}

// add adds the revision that a link's entry came with.
func (a *Arrival) add(link string) {
	if revision, found := loadgen.LinkedRevision(link); found {
		a.Revisions = append(a.Revisions, revision)
	}
}
