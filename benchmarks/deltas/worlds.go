//go:build unix

package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// world makes a document that changes in one known way, from a seed.
type world struct {
	name  string
	every time.Duration // between two looks
	looks int
	limit limits
	begin func(*rand.Rand) func(look int) scene
}

// scene is a document at one look. Its facts are the texts that a subscriber wants
// to be told of; everything else of the document is noise.
type scene struct {
	body  string
	facts []string
	// counters are texts that the generator labels as counters: telling them is
	// allowed, and is counted apart.
	counters []string
}

// limits are what is promised of a world.
type limits struct {
	never     float64 // share of the facts standing two looks or more that no update ever shows
	late      int     // looks within which each of these is told, 0: whenever
	falsely   int     // updates at which no fact changed; -1: whatever
	settled   int     // looks before which updates are not counted as false
	counters  float64 // share of the changes of counters alone that are told; 0: not asked
	precision float64 // share of the updates at which a fact had changed
}

const (
	fiveMinutes = 5 * time.Minute
	halfHour    = 30 * time.Minute
)

// worlds returns the adversaries. Each is a pattern that made an engine silent or
// noisy once.
func worlds() []world {
	all := []world{
		{"list of JSON without IDs, churning", halfHour, 300, limits{late: 2, falsely: 0}, churningJSON},
		{"list of a page, churning", halfHour, 300, limits{late: 2, falsely: -1}, churningPage},
		{"list that shrinks and moves", halfHour, 200, limits{late: 2, falsely: -1}, shrinkingPage},
		{"feed whose entries have a state line", halfHour, 300, limits{late: 2, falsely: 0}, incidents},
		{"feed whose entries have an alert level", halfHour, 300, limits{late: 2, falsely: 0}, alertLevels},
		{"number that changes each one to six looks", fiveMinutes, 600, limits{late: 2, falsely: 0}, queueLength},
		{"feed with counters in nearly all entries", halfHour, 400, limits{late: 2, falsely: -1, counters: 0.3}, pulls},
		{"article with a counter and a price", halfHour, 400, limits{late: 2, falsely: 4}, shop},
		{"number that changes each one to six looks beside a counter", fiveMinutes, 600, limits{late: 4, falsely: 4}, queueAndCounter},
		{"A and B at random", halfHour, 300, limits{falsely: 1, settled: 100}, coin},
		{"time, duration and date on one line", fiveMinutes, 200, limits{late: 2, falsely: 3}, built},
		{"forum clock", fiveMinutes, 300, limits{late: 2, falsely: 6}, forum},
		{"weather widget", fiveMinutes, 400, limits{late: 2, falsely: 8}, weather},
		{"sponsored blocks of a pool", halfHour, 400, limits{late: 2, falsely: 12}, sponsored},
		{"lines in random order", halfHour, 200, limits{late: 2, falsely: 0}, shuffled},
	}
	all = append(all, healthWorlds()...)
	for _, many := range []int{2, 3, 5, 9, 16, 17} {
		for _, stands := range []int{2, 3, 12, 48} {
			for _, kind := range []string{"words", "price", "flag"} {
				if kind == "flag" && many != 2 {
					continue
				}
				name := fmt.Sprintf("%d returning states of %d looks, %s", many, stands, kind)
				all = append(all, world{name, halfHour, min(40*stands, 1000), limits{late: 2, falsely: 0}, returning(kind, many, stands)})
			}
		}
	}
	return append(all, listWorlds()...)
}

var wordPool = strings.Fields(`amber basin cedar delta ember fjord glade haven inlet jetty knoll lagoon mesa notch orchard prairie
quarry ridge sable thicket upland valley willow yarrow zephyr anchor beacon copper dapple elm falcon garnet harbor iron juniper
kestrel lantern marble nectar opal pebble quill raven saffron timber umber violet walnut`)

// phrase returns words that no other phrase of a world has in that order.
func phrase(random *rand.Rand, words int) string {
	parts := make([]string, words)
	for i := range parts {
		parts[i] = wordPool[random.IntN(len(wordPool))]
	}
	return strings.Join(parts, " ")
}

// article is a page's stable text.
func article(random *rand.Rand, paragraphs int) []string {
	lines := make([]string, paragraphs)
	for i := range lines {
		lines[i] = "The " + phrase(random, 12) + "."
	}
	return lines
}

func pageOf(lines ...string) string {
	return "<html><head><title>A page</title></head><body><p>" + strings.Join(lines, "</p>\n<p>") + "</p></body></html>"
}

// churn keeps a list of unique items, of which up to three leave and come at each look.
func churn(random *rand.Rand, size int) func() []string {
	n := 1000
	var items []string
	return func() []string {
		for range random.IntN(4) {
			if at := random.IntN(size); at < len(items) {
				items = slices.Delete(items, at, at+1)
			}
		}
		for len(items) < size {
			n++
			items = slices.Insert(items, random.IntN(len(items)+1), fmt.Sprintf("%s no %d", phrase(random, 3), n))
		}
		return slices.Clone(items)
	}
}

func churningJSON(random *rand.Rand) func(int) scene {
	items := churn(random, 20)
	return func(int) scene {
		facts := items()
		var list []string
		for _, fact := range facts {
			list = append(list, fmt.Sprintf(`{"name": %q, "kind": "offer"}`, fact))
		}
		return scene{body: `{"generated": "x", "offers": [` + strings.Join(list, ",") + `]}`, facts: facts}
	}
}

func churningPage(random *rand.Rand) func(int) scene {
	items, text := churn(random, 20), article(random, 5)
	return func(int) scene {
		facts := items()
		return scene{body: pageOf(append(slices.Clone(text), facts...)...), facts: facts}
	}
}

// shrinkingPage loses more than it gets, and moves while it does.
func shrinkingPage(random *rand.Rand) func(int) scene {
	items := article(random, 60)
	n := 0
	return func(look int) scene {
		if look > 0 && len(items) > 5 {
			at := random.IntN(len(items))
			items = slices.Delete(items, at, at+1)
		}
		if look%7 == 3 || len(items) < 8 {
			n++
			items = slices.Insert(items, random.IntN(len(items)), fmt.Sprintf("Offer %d: %s", n, phrase(random, 5)))
		}
		return scene{body: pageOf(items...), facts: slices.DeleteFunc(slices.Clone(items), func(s string) bool { return !strings.HasPrefix(s, "Offer") })}
	}
}

// feedOf makes an Atom feed of entries.
func feedOf(entries []string) string {
	return `<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>Feed</title>` + strings.Join(entries, "\n") + `</feed>`
}

func entryOf(id int, title, text string) string {
	return fmt.Sprintf(`<entry><id>urn:e:%d</id><title>%s</title><link href="http://a.example/%d"/><updated>2026-01-02T00:00:00Z</updated><content type="html">%s</content></entry>`, id, title, id, text)
}

var incidentStates = []string{"Investigating", "Identified", "Monitoring", "Resolved"}

// incidents have one line each that says how they stand. Whether a state is told
// counts for each incident anew: the update has to show it.
func incidents(random *rand.Rand) func(int) scene {
	type incident struct {
		id, state int
		title     string
	}
	var list []incident
	return func(look int) scene {
		if look == 0 || random.IntN(10) == 0 {
			list = append([]incident{{id: look + 1, title: phrase(random, 3)}}, list...)
			list = list[:min(len(list), 15)]
		}
		var s scene
		var entries []string
		for i := range list {
			in := &list[i]
			if random.IntN(8) == 0 {
				in.state = (in.state + 1 + random.IntN(2)) % len(incidentStates)
			}
			state := incidentStates[in.state]
			entries = append(entries, entryOf(in.id, in.title, "&lt;p&gt;Status: "+state+"&lt;/p&gt;&lt;p&gt;"+in.title+" has trouble&lt;/p&gt;"))
			s.facts = append(s.facts, fmt.Sprintf("urn:e:%d Status: %s", in.id, state))
		}
		s.body = feedOf(entries)
		return s
	}
}

func alertLevels(random *rand.Rand) func(int) scene {
	levels := make([]int, 12)
	return func(int) scene {
		var s scene
		var entries []string
		for id := range levels {
			if random.IntN(6) == 0 {
				levels[id] = random.IntN(6)
			}
			entries = append(entries, entryOf(id, "Volcano "+wordPool[id], fmt.Sprintf("&lt;p&gt;Alert level: %d&lt;/p&gt;&lt;p&gt;A mountain.&lt;/p&gt;", levels[id])))
			s.facts = append(s.facts, fmt.Sprintf("urn:e:%d Alert level: %d", id, levels[id]))
		}
		s.body = feedOf(entries)
		return s
	}
}

func queueLength(random *rand.Rand) func(int) scene {
	text, value, until := article(random, 8), 100, 0
	return func(look int) scene {
		if look >= until {
			value, until = value+1+random.IntN(40), look+1+random.IntN(6)
		}
		fact := fmt.Sprintf("Patients waiting: %d", value)
		return scene{body: pageOf(append(slices.Clone(text), fact)...), facts: []string{fact}}
	}
}

func queueAndCounter(random *rand.Rand) func(int) scene {
	queue, views := queueLength(random), 0
	return func(look int) scene {
		s := queue(look)
		views += 1 + random.IntN(30)
		s.body = strings.Replace(s.body, "<p>", fmt.Sprintf("<p>%d views</p><p>", views), 1)
		return s
	}
}

// pulls counts in nearly all entries at nearly all looks, but not at night.
func pulls(random *rand.Rand) func(int) scene {
	counts, first := make([]int, 25), 0
	titles := make(map[int]string)
	return func(look int) scene {
		night := look%48 < 16
		if !night && random.IntN(12) == 0 {
			first++
		}
		var s scene
		var entries []string
		for i := range counts {
			if !night && random.IntN(20) > 0 {
				counts[i] += random.IntN(300)
			}
			id := first + len(counts) - i
			if titles[id] == "" {
				titles[id] = fmt.Sprintf("%s no %d", phrase(random, 3), id)
			}
			counter := fmt.Sprintf("Pulls: %d", counts[i])
			entries = append(entries, entryOf(id, titles[id], "&lt;p&gt;"+counter+"&lt;/p&gt;&lt;p&gt;An image.&lt;/p&gt;"))
			s.facts, s.counters = append(s.facts, titles[id]), append(s.counters, fmt.Sprint(id, counter))
		}
		s.body = feedOf(entries)
		return s
	}
}

func shop(random *rand.Rand) func(int) scene {
	text, views, price := article(random, 8), 5000, 100
	return func(int) scene {
		views += random.IntN(50)
		if random.IntN(20) == 0 {
			price = 80 + random.IntN(40)
		}
		fact := fmt.Sprintf("Price: €%d", price)
		return scene{body: pageOf(append(slices.Clone(text), fmt.Sprintf("This page was viewed %d times", views), fact)...), facts: []string{fact}}
	}
}

func coin(random *rand.Rand) func(int) scene {
	text := article(random, 8)
	return func(int) scene {
		return scene{body: pageOf(append(slices.Clone(text), []string{"Choose blue today", "Choose green now"}[random.IntN(2)])...)}
	}
}

// returning goes round known states, each of which stands for a fixed number of looks.
func returning(kind string, many, stands int) func(*rand.Rand) func(int) scene {
	return func(random *rand.Rand) func(int) scene {
		text, states := article(random, 8), make([]string, many)
		for i := range states {
			switch kind {
			case "words":
				states[i] = "The bridge is " + phrase(random, 2)
			case "price":
				states[i] = fmt.Sprintf("Price: €%d.%02d", 10+i, random.IntN(100))
			case "flag":
				states[i] = `"open": ` + fmt.Sprint(i == 0)
			}
		}
		return func(look int) scene {
			state := states[look/stands%many]
			if kind == "flag" {
				return scene{body: `{"name": "ferry", "pier": "north", ` + state + `}`, facts: []string{state}}
			}
			return scene{body: pageOf(append(slices.Clone(text), state)...), facts: []string{state}}
		}
	}
}

// now is the time of a look, in a world that began one morning.
func now(every time.Duration, look int) time.Time {
	return time.Date(2026, 11, 2, 8, 0, 0, 0, time.UTC).Add(time.Duration(look) * every)
}

// news changes a line about once in forty looks.
func news(random *rand.Rand) func() string {
	fact, n := "", 0
	return func() string {
		if n == 0 || random.IntN(40) == 0 {
			n++
			fact = fmt.Sprintf("News %d: %s", n, phrase(random, 5))
		}
		return fact
	}
}

func withNews(random *rand.Rand, noise func(look int) []string) func(int) scene {
	text, next := article(random, 8), news(random)
	return func(look int) scene {
		fact := next()
		lines := append(append(slices.Clone(text[:4]), fact), text[4:]...)
		return scene{body: pageOf(append(lines, noise(look)...)...), facts: []string{fact}}
	}
}

func built(random *rand.Rand) func(int) scene {
	return withNews(random, func(look int) []string {
		at := now(fiveMinutes, look).Add(time.Duration(random.IntN(90)) * time.Second)
		return []string{fmt.Sprintf("Page generated in %.3f seconds. Updated %s", 0.05+random.Float64(), at.Format(time.TimeOnly))}
	})
}

func forum(random *rand.Rand) func(int) scene {
	return withNews(random, func(look int) []string {
		at := now(fiveMinutes, look)
		return []string{"It is currently " + at.Format("Mon Jan 2, 2006 3:04 pm"),
			fmt.Sprintf("In total there are %d users online: %d registered, 0 hidden and %d guests", 20+random.IntN(9), random.IntN(5), 20+random.IntN(9))}
	})
}

func weather(random *rand.Rand) func(int) scene {
	skies := []string{"clear sky", "light rain", "partly cloudy", "cloudy", "showers", "mist"}
	return withNews(random, func(int) []string {
		return []string{"Weather", fmt.Sprintf("%d°C", 3+random.IntN(12)), skies[random.IntN(len(skies))], fmt.Sprintf("Wind %d km/h", random.IntN(30))}
	})
}

func sponsored(random *rand.Rand) func(int) scene {
	pool := make([][]string, 12)
	for i := range pool {
		pool[i] = []string{phrase(random, 4), "By " + phrase(random, 2), phrase(random, 7)}
	}
	return withNews(random, func(int) []string {
		return append([]string{"Sponsored"}, pool[random.IntN(len(pool))]...)
	})
}

func shuffled(random *rand.Rand) func(int) scene {
	lines := article(random, 15)
	return func(look int) scene {
		if look%40 == 39 {
			lines = append(lines, fmt.Sprintf("Result %d: %s", look, phrase(random, 4)))
		}
		shown := slices.Clone(lines)
		random.Shuffle(len(shown), func(i, j int) { shown[i], shown[j] = shown[j], shown[i] })
		facts := slices.DeleteFunc(slices.Clone(lines), func(s string) bool { return !strings.HasPrefix(s, "Result") })
		return scene{body: pageOf(shown...), facts: facts}
	}
}
