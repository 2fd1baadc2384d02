package state

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// Chosen reads what reading one channel after the other does: from random states, with channels of
// one bucket, updates that were trimmed, notices that channels are gone, and channels that ended
// and were made again.
func TestChosen(t *testing.T) {
	urls, m := append(neighbours(3), "http://example.com/a", "http://example.com/b"), newMachine(t)
	var all []channel.ID
	for _, url := range urls {
		all = append(all, channel.IDOf(url))
	}
	rapid.Check(t, func(rt *rapid.T) {
		m.reset(t, 0)
		m.open(t, channel.Range{To: channel.Buckets - 1})
		c := &chosenTest{T: rt, machine: m, t: t, at: day0}
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			c.step(rapid.SampledFrom(urls).Draw(rt, "url"))
		}
		chosen := append(rapid.SliceOfDistinct(rapid.SampledFrom(all), rapid.ID).Draw(rt, "chosen"), channel.IDOf("http://example.com/never"))
		closed, limit := c.stamp("closed"), rapid.SampledFrom([]int{1, 3, 64}).Draw(rt, "limit")
		after := channel.Cursor{Stamp: c.stamp("after"), Bucket: rapid.SampledFrom(all).Draw(rt, "bucket").Bucket()}
		var updates []channel.Update
		for at, more := after, true; more; {
			page, err := c.Chosen(chosen, at, closed, limit)
			want := c.oneByOne(chosen, at, closed, limit)
			if err != nil || !reflect.DeepEqual(page, want) {
				rt.Fatalf("behind %v up to %d at most %d: %+v, %v; want %+v", at, closed, limit, page, err, want)
			}
			if updates, more = append(updates, page.Updates...), page.More; more {
				at = updates[len(updates)-1].Cursor()
			}
		}
		if whole := c.oneByOne(chosen, after, closed, 1<<30); !reflect.DeepEqual(updates, whole.Updates) {
			rt.Fatalf("all pages: %v, want %v", updates, whole.Updates)
		}
	})
}

// A page ends after about a megabyte, and says that there is more.
func TestChosenBytes(t *testing.T) {
	m := newMachine(t)
	url := "http://example.com/"
	id, size := channel.IDOf(url), pageBytes/4
	m.apply(t, day0, subscribeCommand(item(url, stream)))
	m.apply(t, day0, commitCommand(id, 1, 0, 1, ""))
	for v := range uint64(9) {
		if result := m.apply(t, day0, commitCommand(id, 1, v+1, v+2, strings.Repeat("x", size))); result.Err != nil {
			t.Fatal(result.Err)
		}
	}
	page, err := m.Chosen([]channel.ID{id}, channel.Cursor{}, m.Time(), 64)
	if err != nil || len(page.Updates) != 4 || !page.More {
		t.Errorf("%d updates, more %t, %v; want 4 of %d bytes and more", len(page.Updates), page.More, err, size)
	}
}

// neighbours returns URLs of channels of one bucket.
func neighbours(n int) (urls []string) {
	for i := 0; len(urls) < n; i++ {
		url := fmt.Sprintf("http://example.com/%d", i)
		if len(urls) == 0 || channel.IDOf(url).Bucket() == channel.IDOf(urls[0]).Bucket() {
			urls = append(urls, url)
		}
	}
	return urls
}

type chosenTest struct {
	*rapid.T
	*machine
	t  *testing.T
	at time.Time
}

// step changes a channel, which is made if it does not exist.
func (c *chosenTest) step(url string) {
	id := channel.IDOf(url)
	c.at = c.at.Add(time.Duration(rapid.IntRange(0, 30).Draw(c.T, "hours")) * time.Hour)
	ch, err := c.states.Channel(id)
	if errors.Is(err, channel.ErrNotFound) {
		c.do(subscribeCommand(item(url, stream)))
		return
	}
	if err != nil {
		c.Fatal(err)
	}
	switch rapid.SampledFrom([]string{"burst", "update", "update", "gone", "back", "trim", "end"}).Draw(c.T, "step") {
	case "burst":
		for v := ch.Version; v < ch.Version+KeepVersions+3; v++ {
			c.do(commitCommand(id, ch.Incarnation, v, v+1, fmt.Sprint(url, v+1)))
		}
	case "update":
		c.do(commitCommand(id, ch.Incarnation, ch.Version, ch.Version+1, fmt.Sprint(url, ch.Version+1)))
	case "gone", "back":
		command := commitCommand(id, ch.Incarnation, ch.Version, ch.Version, "")
		command.GetCommit().Gone = !ch.Gone
		c.do(command)
	case "trim":
		trim := &wire.Trim{Channel: id[:], Incarnation: ch.Incarnation, BeforeUs: wire.Micros(c.at), Forced: true}
		if ch.Oldest > 0 {
			c.do(&wire.Command{Change: &wire.Command_Trim{Trim: trim}})
		}
	case "end":
		subs, err := c.states.Subscribers(id, 0, 1)
		if err != nil || len(subs) != 1 {
			c.Fatal(subs, err)
		}
		c.do(&wire.Command{Change: &wire.Command_Unsubscribe{Unsubscribe: &wire.Unsubscribe{Bucket: uint32(id.Bucket()), Seq: subs[0].Seq}}})
		c.do(&wire.Command{Change: &wire.Command_EndChannel{EndChannel: &wire.EndChannel{Channel: id[:], Incarnation: ch.Incarnation}}})
	}
}

func (c *chosenTest) do(command *wire.Command) {
	switch commit := command.GetCommit(); {
	case commit == nil:
	case commit.Version == 1:
		commit.Update = nil // it is not delivered
	case commit.Version > commit.Base:
		commit.Patch = []byte("no part of a page")
	}
	if result := c.apply(c.t, c.at, command); result.Err != nil {
		c.Fatal(command, result.Err)
	}
}

// stamp draws one around those that there are.
func (c *chosenTest) stamp(what string) uint64 {
	first := wire.Micros(day0) - 2
	if rapid.Bool().Draw(c.T, "late "+what) {
		first = c.Time() - min(40, c.Time()-first)
	}
	return rapid.Uint64Range(first, c.Time()+2).Draw(c.T, what)
}

// oneByOne reads each channel by itself.
func (c *chosenTest) oneByOne(chosen []channel.ID, after channel.Cursor, closed uint64, limit int) channel.Kept {
	kept := channel.Kept{Closed: closed}
	for _, id := range chosen {
		ch, err := c.states.Channel(id)
		if errors.Is(err, channel.ErrNotFound) {
			continue
		}
		updates, _, failed := c.states.Updates(id, 0, 1<<30)
		if err := errors.Join(err, failed); err != nil {
			c.Fatal(err)
		}
		if lost := (channel.Lost{Channel: id, Oldest: ch.Oldest, Stamp: ch.TrimmedStamp}); lost.Stamp > 0 && after.Less(lost.Cursor()) {
			kept.Lost = append(kept.Lost, lost)
		}
		if ch.GoneStamp > 0 {
			updates = append(updates, channel.Update{Channel: id, URL: ch.URL, Incarnation: ch.Incarnation, Version: ch.Version, Stamp: ch.GoneStamp, Gone: true})
		}
		for _, u := range updates {
			if u.Patch = nil; after.Less(u.Cursor()) && u.Stamp <= closed {
				kept.Updates = append(kept.Updates, u)
			}
		}
	}
	slices.SortFunc(kept.Updates, func(a, b channel.Update) int { return a.Cursor().Compare(b.Cursor()) })
	if kept.More = len(kept.Updates) > limit; kept.More {
		kept.Updates = kept.Updates[:limit]
	}
	return kept
}
