package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/originaudit"
)

// health is how a host behaves.
type health int

const (
	healthy  health = iota
	slow            // answers late or at a byte a second
	dead            // accepts no connection, or never answers
	refusing        // answers 429, 503 or 403, with Retry-After, two times in three
	harmful         // sends bodies or heads that end nowhere, or explode
)

func (h health) String() string {
	return [...]string{"healthy", "slow", "dead", "refusing", "harmful"}[h]
}

// world is an origin with so many feeds on so many hosts.
type world struct {
	*originaudit.Origin
	urls   []string
	health []health // of each URL's host in the sick run
	grow   []*originaudit.Document
	random *rand.Rand
	mean   time.Duration // between two changes of a feed
}

// newWorld opens the hosts. Which of them would be sick depends on the seed alone,
// so that two runs can be compared; whether they are is said by sick.
func newWorld(ctx context.Context, o options, port uint16, sick bool) (*world, error) {
	origin, err := originaudit.Listen(ctx, o.hosts, port)
	if err != nil {
		return nil, err
	}
	w := &world{Origin: origin, random: rand.New(rand.NewPCG(o.seed, 1)), mean: 10 * o.interval}
	states := diagnose(o.hosts, rand.New(rand.NewPCG(o.seed, 0)))
	for n := range o.channels {
		host := n % o.hosts
		doc := new(originaudit.Document)
		script := originaudit.Script(doc.Answer)
		if sick {
			script = w.script(host, states[host], doc.Answer, o.interval)
		}
		w.urls = append(w.urls, origin.Play(host, fmt.Sprintf("/feed/%d", n/o.hosts), script))
		w.health = append(w.health, states[host])
		w.grow = append(w.grow, doc)
	}
	for host, state := range states {
		if sick && state == dead && host%2 == 0 {
			origin.Refuse(host)
		}
	}
	return w, nil
}

// diagnose says which hosts are sick: 5 % each of three kinds, 2 % of the worst,
// one of each at least.
func diagnose(hosts int, random *rand.Rand) []health {
	states := make([]health, hosts)
	order := random.Perm(hosts)
	for _, kind := range []struct {
		state   health
		percent int
	}{{slow, 5}, {dead, 5}, {refusing, 5}, {harmful, 2}} {
		n := max(1, hosts*kind.percent/100)
		for _, host := range order[:min(n, len(order))] {
			states[host] = kind.state
		}
		order = order[min(n, len(order)):]
	}
	return states
}

// script returns what a sick host plays, each another one of its kind.
func (w *world) script(host int, state health, well originaudit.Script, interval time.Duration) originaudit.Script {
	pick := func(scripts ...originaudit.Script) originaudit.Script { return scripts[host%len(scripts)] }
	switch state {
	case slow:
		return pick(in(originaudit.Drip(0, time.Second), well), in(originaudit.Drip(400, time.Second), well), in(originaudit.Late(6*time.Second), well))
	case dead:
		return in(originaudit.Hang, well)
	case refusing:
		return refuse(host, well, interval)
	case harmful:
		var bad []originaudit.Script
		for _, row := range originaudit.Rows() {
			switch row.Number {
			case 1, 3, 4, 9, 12:
				bad = append(bad, row.Play)
			}
		}
		return pick(bad...)
	}
	return well
}

// in sends a script's answers in another manner.
func in(manner originaudit.Sender, script originaudit.Script) originaudit.Script {
	return func(v originaudit.Visit) originaudit.Answer {
		answer := script(v)
		answer.Send = manner
		return answer
	}
}

// refuse answers well once in three visits, and else says when to come back: in
// each form that a Retry-After may have.
func refuse(host int, well originaudit.Script, interval time.Duration) originaudit.Script {
	wait := max(interval*3/4, 2*time.Second)
	seconds := fmt.Sprint(int(wait.Seconds()))
	forms := []originaudit.Script{
		originaudit.Refusal(429, seconds), originaudit.Refusal(503, seconds), originaudit.Refusal(403, seconds),
		originaudit.RefusalUntil(429, originaudit.DateIMF, wait), originaudit.RefusalUntil(429, originaudit.DateRFC850, wait), originaudit.RefusalUntil(503, originaudit.DateAsctime, wait),
		originaudit.Refusal(429, ""), originaudit.Refusal(429, "0"), originaudit.Refusal(429, "-1"), originaudit.Refusal(429, "1000000000000"),
	}
	refusal := forms[host%len(forms)]
	return func(v originaudit.Visit) originaudit.Answer {
		if v.Number%3 == 0 {
			return well(v)
		}
		return refusal(v)
	}
}

// change lets feeds grow until the context ends: a feed once in ten intervals.
func (w *world) change(ctx context.Context) {
	const tick = 100 * time.Millisecond
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			for _, doc := range w.grow {
				if w.random.Float64() < tick.Seconds()/w.mean.Seconds() {
					doc.Grow()
				}
			}
		}
	}
}
