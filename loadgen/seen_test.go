package loadgen

import (
	"testing"

	"github.com/seed-91e7e7c1/corona/deltas"
)

// The difference engine must see of every revision of a feed one new entry, at
// most one changed title and no removal: only then does a missed update mean a
// fault of the node and not of the load.
func TestRevisionsAsTheDifferenceEngineSeesThem(t *testing.T) {
	content := Content{Schedule: Schedule{Seed: 4}}
	extract := func(channel int, revision int64) *deltas.Core {
		core, err := deltas.Extract(deltas.Document{
			Body:        content.AppendDocument(nil, channel, revision),
			ContentType: content.Format(channel).ContentType(),
			URL:         "http://127.0.0.1:9100/",
		})
		if err != nil {
			t.Fatalf("channel %d (%s) revision %d: %v", channel, content.Format(channel), revision, err)
		}
		return core
	}
	for channel := range 60 {
		format := content.Format(channel)
		base := extract(channel, 1)
		if (base.Kind == deltas.KindFeed) == (format == HTML) {
			t.Fatalf("channel %d (%s) is taken for %s", channel, format, base.Kind)
		}
		for revision := int64(2); revision < 8; revision++ {
			next := extract(channel, revision)
			update := deltas.Compare(base, next)
			if base.Hash == next.Hash || update.Diff == "" {
				t.Errorf("channel %d (%s) revision %d: no difference", channel, format, revision)
			}
			entries := update.Entries
			if format != HTML && (len(entries.Added) != 1 || len(entries.Changed) > 1 || len(entries.Removed) != 0) {
				t.Errorf("channel %d (%s) revision %d: %d added, %d changed, %d removed", channel, format, revision,
					len(entries.Added), len(entries.Changed), len(entries.Removed))
			}
			base = next
		}
	}
}
