//go:build unix

package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// post is what a page embeds of somebody else's: none of it is the page's news.
type post struct {
	author, text string
	look         int // at which it was written
	likes        int
}

// lines are a post as a page shows it.
func (p *post) lines(ago func(minutes int) string, look int) []string {
	return []string{p.author, p.text, fmt.Sprintf("%d Likes · %s", p.likes, ago((look-p.look)*30+7))}
}

// agoIn says how long ago something was, in the words of a language.
func agoIn(language string) func(minutes int) string {
	words := map[string][3]string{
		"en": {"%d minutes ago", "%d hours ago", "%d days ago"},
		"de": {"vor %d Minuten", "vor %d Stunden", "vor %d Tagen"},
		"fr": {"il y a %d minutes", "il y a %d heures", "il y a %d jours"},
		"ja": {"%d分前", "%d時間前", "%d日前"},
		"pl": {"%d minut temu", "%d godzin temu", "%d dni temu"},
	}[language]
	return func(minutes int) string {
		switch {
		case minutes < 60:
			return fmt.Sprintf(words[0], minutes)
		case minutes < 24*60:
			return fmt.Sprintf(words[1], minutes/60)
		}
		return fmt.Sprintf(words[2], minutes/60/24)
	}
}

// healthPage has situation reports and tables, which are its news, and beside them
// share counters, and posts that rotate: of a pool in which a new one takes the place of
// an old one now and then or, if they are a timeline, the latest.
func healthPage(language string, timeline bool) func(*rand.Rand) func(int) scene {
	return func(random *rand.Rand) func(int) scene {
		text, ago, situation := article(random, 40), agoIn(language), newSituation(random)
		shares, views := 1200+random.IntN(500), 40000
		write := func(look int) post {
			return post{author: "@" + phrase(random, 1), text: "Post: " + phrase(random, 9), look: look, likes: random.IntN(40)}
		}
		var posts []post
		for n := range 12 {
			posts = append(posts, write(-4*n))
		}
		return func(look int) scene {
			facts := situation()
			shares, views = shares+random.IntN(2), views+random.IntN(90)
			for i := range posts {
				posts[i].likes += random.IntN(3)
			}
			if random.IntN(8) == 0 {
				posts = slices.Insert(posts[:len(posts)-1], 0, write(look))
			}
			shown := slices.Clone(posts)
			if !timeline {
				random.Shuffle(len(shown), func(i, j int) { shown[i], shown[j] = shown[j], shown[i] })
			}
			lines := append([]string{fmt.Sprintf("Share %.1fK", float64(shares)/1000), fmt.Sprintf("%d people read this", views)}, text[:4]...)
			lines = append(append(lines, facts...), text[4:25]...)
			lines = append(lines, "What people say")
			for i := range shown[:3] {
				lines = append(lines, shown[i].lines(ago, look)...)
			}
			return scene{body: pageOf(append(lines, text[25:]...)...), facts: facts}
		}
	}
}

// newSituation returns what a health page says: a report that is written now and then,
// and counts that are published about once a day.
func newSituation(random *rand.Rand) func() []string {
	report, cases, deaths, n := "", 4000, 120, 0
	return func() []string {
		if n == 0 || random.IntN(30) == 0 {
			n++
			report = fmt.Sprintf("Situation report %d: %s", n, phrase(random, 8))
		}
		if random.IntN(40) == 0 {
			cases, deaths = cases+1+random.IntN(300), deaths+1+random.IntN(9)
		}
		return []string{report, fmt.Sprintf("Confirmed cases: %d", cases), fmt.Sprintf("Deaths: %d", deaths)}
	}
}

func healthWorlds() (all []world) {
	for _, language := range strings.Fields("en de fr ja pl") {
		for kind, timeline := range map[string]bool{"rotating posts": false, "a timeline": true} {
			all = append(all, world{"health page with " + kind + ", " + language, halfHour, 500, limits{late: 2, falsely: -1, precision: 0.7}, healthPage(language, timeline)})
		}
	}
	slices.SortFunc(all, func(a, b world) int { return strings.Compare(a.name, b.name) })
	return all
}
