package witness

import (
	"slices"
	"strings"

	"github.com/seed-91e7e7c1/corona/api"
)

// witness notes what somebody saw of a version; any two must have seen the same.
func (c *checker) witness(channel int, update *api.Update, who string) {
	if !c.Channels[channel].Anchored {
		return // its versions begin at 1 with every incarnation
	}
	if c.versions[channel] == nil {
		c.versions[channel] = make(map[uint64]*api.Update)
	}
	known := c.versions[channel][update.Version]
	if known != nil && !sameUpdate(known, update) {
		c.violated(RuleBody, "%s: version %d is %+v to others and %+v to %s", update.URL, update.Version, *known, *update, who)
	}
	c.versions[channel][update.Version] = update
}

// checkVersions follows the entries of every anchored channel through its
// versions.
func (c *checker) checkVersions() {
	for i, record := range c.Channels {
		if !record.Anchored {
			continue
		}
		for _, update := range c.snapshot.Updates[record.ID] {
			c.witness(i, &update, "the API")
		}
		current := c.snapshot.Channels[record.ID].Version
		if record.FirstSeen == 0 {
			c.pending(RuleChange, "%s has no version yet", record.URL)
			continue
		}
		c.checkEntries(record, c.versions[i], current)
	}
}

// checkEntries holds that the versions 2 to current bring each entry after the
// first content's exactly once, without a hole, up to the origin's newest.
func (c *checker) checkEntries(record *ChannelRecord, versions map[uint64]*api.Update, current uint64) {
	seenIn := make(map[int]uint64)
	complete := true
	for version := uint64(2); version <= current; version++ {
		update := versions[version]
		if update == nil {
			complete = false
			c.pending(RuleUndelivered, "nobody has seen version %d of %s, which is at %d", version, record.URL, current)
			continue
		}
		c.checkUpdate(record, update, seenIn)
	}
	for version := range versions {
		switch {
		case version < 2:
			c.violated(RuleOrder, "version %d of %s was delivered: it is the first content", version, record.URL)
		case version > current: // or committed since the state was read
			c.pending(RuleForgotten, "%s is at version %d, but version %d was delivered", record.URL, current, version)
		}
	}
	if complete {
		c.checkHoles(record, seenIn)
	}
}

// checkUpdate judges one version by itself and against those before it.
func (c *checker) checkUpdate(record *ChannelRecord, update *api.Update, seenIn map[int]uint64) {
	if update.Previous != update.Version-1 {
		c.violated(RuleEntry, "%s: version %d follows %d", record.URL, update.Version, update.Previous)
	}
	if n := len(update.Entries.Changed) + len(update.Entries.Removed); n > 0 || len(update.Entries.Added) == 0 {
		c.violated(RuleEntry, "%s: version %d adds %d entries and changes or removes %d; the origin only adds: %+v",
			record.URL, update.Version, len(update.Entries.Added), n, update.Entries)
	}
	for _, entry := range update.Entries.Added {
		number, ok := entryOf(record.Number, entry)
		if !ok || number < 1 || number > len(record.Added) {
			c.violated(RuleEntry, "%s: version %d has the entry %q, which the origin never had", record.URL, update.Version, entry.Link)
			continue
		}
		if before := seenIn[number]; before != 0 {
			c.violated(RuleEntry, "%s: entry %d came in version %d and in %d%s", record.URL, number, before, update.Version, record.answers())
		}
		seenIn[number] = update.Version
	}
}

// checkHoles holds that nothing is missing: neither between two entries, nor
// after the first content was seen, nor at the end.
func (c *checker) checkHoles(record *ChannelRecord, seenIn map[int]uint64) {
	numbers := make([]int, 0, len(seenIn))
	for number := range seenIn {
		numbers = append(numbers, number)
	}
	slices.Sort(numbers)
	// The first content was fetched before FirstSeen: it holds no later entry.
	next := record.addedBy(record.FirstSeen) + 1
	if len(numbers) > 0 {
		next = min(next, numbers[0])
	}
	for _, number := range numbers {
		if number != next {
			c.violated(RuleEntry, "%s: entry %d came in version %d, but entries %d to %d in none%s",
				record.URL, number, seenIn[number], next, number-1, record.answers())
		}
		next = number + 1
	}
	if newest := len(record.Added); next <= newest {
		c.pending(RuleChange, "%s: entries %d to %d, the last one added at %s, came in no version%s",
			record.URL, next, newest, record.Added[newest-1], record.answers())
	}
}

func (r *ChannelRecord) answers() string {
	return "; the origin's last answers: " + strings.Join(r.Answers, "; ")
}
