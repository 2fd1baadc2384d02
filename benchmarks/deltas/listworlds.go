//go:build unix

package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// listWorlds returns adversaries that are JSON lists without IDs, and entries whose
// categories and places change.
func listWorlds() []world {
	promised := limits{late: 2, falsely: 0}
	return []world{
		{"list of JSON known by URLs, churning", halfHour, 300, promised, churningList(`{"label": "offer", "page": "https://a.example/%d", "says": %q}`)},
		{"list of JSON known by title and date, churning", halfHour, 300, promised, churningList(`{"day": "2026-%04d", "room": "blue", "title": %q}`)},
		{"list of JSON two objects deep, churning", halfHour, 300, promised, churningList(`{"node": {"rank": %d, "name": %q}}`)},
		{"rows of a table, churning", halfHour, 300, promised, churningList(`[%d, %q, "x"]`)},
		{"list of strings, churning", halfHour, 300, promised, churningStrings},
		{"list of alarms that come back", halfHour, 400, promised, alarms},
		{"list of JSON whose key changes", halfHour, 300, promised, regionLevels},
		{"list of JSON without IDs, in random order", halfHour, 200, promised, shuffledList},
		{"list of JSON without IDs, where all count", halfHour, 400, limits{late: 2, falsely: -1, counters: 0.3}, countingList},
		{"features that move", halfHour, 300, promised, movingFeatures},
		{"feed whose entries have categories and places", halfHour, 300, promised, placedEntries},
		{"front page whose stories come back rewritten", halfHour, 300, promised, rewrittenStories},
	}
}

// churningList renders each item of a churning list by its number and its text.
func churningList(format string) func(*rand.Rand) func(int) scene {
	return func(random *rand.Rand) func(int) scene {
		items := churn(random, 20)
		return func(int) scene {
			facts := items()
			list := make([]string, len(facts))
			for i, fact := range facts {
				var n int
				fmt.Sscanf(fact[strings.LastIndexByte(fact, ' '):], "%d", &n)
				list[i] = fmt.Sprintf(format, n, fact)
			}
			return scene{body: `{"data": {"rows": [` + strings.Join(list, ",") + `]}}`, facts: facts}
		}
	}
}

func churningStrings(random *rand.Rand) func(int) scene {
	items := churn(random, 20)
	return func(int) scene {
		facts := items()
		return scene{body: `{"offers": ["` + strings.Join(facts, `","`) + `"]}`, facts: facts}
	}
}

// alarms are raised and cleared, the same ones again and again, each for two looks at
// least.
func alarms(random *rand.Rand) func(int) scene {
	type alarm struct {
		name  string
		on    bool
		until int
	}
	all := make([]alarm, 12)
	for i := range all {
		all[i].name = fmt.Sprintf("%s %d", phrase(random, 2), i)
	}
	return func(look int) scene {
		var s scene
		var list []string
		for i := range all {
			if a := &all[i]; look >= a.until {
				a.on, a.until = !a.on, look+4+random.IntN(60)
			}
			if all[i].on {
				list = append(list, fmt.Sprintf(`{"kind": "alarm", "where": %q}`, all[i].name))
				s.facts = append(s.facts, all[i].name)
			}
		}
		s.body = `{"harbour": "north", "alarms": [` + strings.Join(list, ",") + `]}`
		return s
	}
}

// regionLevels are regions whose levels, which come before their names, change.
func regionLevels(random *rand.Rand) func(int) scene {
	says := make([]string, 4)
	return func(look int) scene {
		var s scene
		var list []string
		for i := range says {
			if look == 0 || random.IntN(20) == 0 {
				says[i] = fmt.Sprintf("%s since %d", phrase(random, 1), look)
			}
			list = append(list, fmt.Sprintf(`{"level": %q, "region": "Region %d"}`, says[i], i))
			s.facts = append(s.facts, says[i])
		}
		s.body = "[" + strings.Join(list, ",") + "]"
		return s
	}
}

func shuffledList(random *rand.Rand) func(int) scene {
	var names []string
	for i := range 15 {
		names = append(names, fmt.Sprintf("%s no %d", phrase(random, 2), i))
	}
	return func(look int) scene {
		if look%40 == 39 {
			names = append(names, fmt.Sprintf("%s no %d", phrase(random, 2), look))
		}
		var list []string
		for _, i := range random.Perm(len(names)) {
			list = append(list, fmt.Sprintf(`{"name": %q, "kind": "station"}`, names[i]))
		}
		return scene{body: `{"stations": [` + strings.Join(list, ",") + `]}`, facts: slices.Clone(names)}
	}
}

// countingList counts in all items at each look, and one item has a state.
func countingList(random *rand.Rand) func(int) scene {
	counts, states := make([]int, 20), make([]string, 20)
	return func(look int) scene {
		var s scene
		var list []string
		for i := range counts {
			counts[i] += random.IntN(300)
			if look == 0 || random.IntN(200) == 0 {
				states[i] = fmt.Sprintf("%s since %d", phrase(random, 1), look)
			}
			list = append(list, fmt.Sprintf(`{"name": "Package %d", "downloads": %d, "state": %q}`, i, counts[i], states[i]))
			s.facts, s.counters = append(s.facts, states[i]), append(s.counters, fmt.Sprint(i, counts[i]))
		}
		s.body = "[" + strings.Join(list, ",") + "]"
		return s
	}
}

func movingFeatures(random *rand.Rand) func(int) scene {
	places := make([]int, 8)
	return func(int) scene {
		var s scene
		var list []string
		for i := range places {
			if random.IntN(10) == 0 {
				places[i]++
			}
			fact := fmt.Sprintf("%d.%04d", 10+i, places[i])
			list = append(list, fmt.Sprintf(`{"type": "Feature", "geometry": {"type": "Point", "coordinates": [%s, 7]}, "properties": {"name": "Buoy %d"}}`, fact, i))
			s.facts = append(s.facts, fact)
		}
		s.body = `{"type": "FeatureCollection", "features": [` + strings.Join(list, ",") + `]}`
		return s
	}
}

func placedEntries(random *rand.Rand) func(int) scene {
	levels, places := make([]int, 8), make([]int, 8)
	return func(int) scene {
		var s scene
		var entries []string
		for i := range levels {
			switch random.IntN(12) {
			case 0:
				levels[i]++
			case 1:
				places[i]++
			}
			category, place := fmt.Sprintf("severity %s %d", wordPool[i], levels[i]), fmt.Sprintf("point 4%d.%04d -7", i, places[i])
			entry := entryOf(i, "Quake "+wordPool[i], "A quake.")
			entries = append(entries, strings.Replace(entry, "<updated>",
				fmt.Sprintf(`<category term=%q/><georss:point>%s</georss:point><updated>`, category, strings.TrimPrefix(place, "point ")), 1))
			s.facts = append(s.facts, fmt.Sprintf("urn:e:%d category: %s", i, category), fmt.Sprintf("urn:e:%d geometry: %s", i, place))
		}
		s.body = strings.Replace(feedOf(entries), "<feed ", `<feed xmlns:georss="http://www.georss.org/georss" `, 1)
		return s
	}
}

// rewrittenStories leave a front page, and come back with another text after a while.
func rewrittenStories(random *rand.Rand) func(int) scene {
	away, texts := make([]int, 20), make([]string, 20)
	return func(look int) scene {
		var s scene
		var entries []string
		for id := range away {
			switch {
			case texts[id] == "" || away[id] == 1:
				texts[id] = fmt.Sprintf("%s at look %d", phrase(random, 4), look)
			case away[id] == 0 && random.IntN(20) == 0:
				away[id] = 2 + random.IntN(9)
			}
			if away[id] = max(away[id]-1, 0); away[id] == 0 {
				entries = append(entries, entryOf(id, "Story "+wordPool[id], texts[id]))
				s.facts = append(s.facts, fmt.Sprintf("urn:e:%d %s", id, texts[id]))
			}
		}
		s.body = feedOf(entries)
		return s
	}
}
