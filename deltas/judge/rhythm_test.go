package judge

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// rhythmScript plays looks half an hour apart: 'x' a change, '.' none, and a digit for
// so many hours without any look. It returns the score after each, in brackets while
// the place is masked.
func rhythmScript(p policy, early bool, looks string) string {
	var out []string
	var s rhythm
	at := uint32(1_000_000)
	s.changed = at
	for _, look := range looks {
		at += halfHour
		switch look {
		case 'x':
			s.tick(p, at)
		case '.':
			s.rest(p, 1)
		default:
			hours := int(look - '0')
			at += uint32(hours*60 - halfHour)
			s.rest(p, 2*hours)
		}
		s.settle(p, at, early)
		if s.masked {
			out = append(out, fmt.Sprintf("[%d]", s.score))
		} else {
			out = append(out, fmt.Sprint(s.score))
		}
	}
	return strings.Join(out, " ")
}

// How each kind of place becomes noise, and news again.
func TestRhythms(t *testing.T) {
	number, field := policies[slotNumber], policies[slotField]
	for _, tc := range []struct {
		name   string
		policy policy
		early  bool
		looks  string
		want   string
	}{
		{"a number of a page, first looks", number, true, "xxxx...", "1 [3] [5] [7] [6] [5] [4]"},
		{"a number of a page", number, false, "xxxx....", "1 3 [5] [7] [6] [5] [4] 0"},
		{"it stood between its changes", number, false, "x.x.x.xx.", "1 0 1 0 1 0 1 3 2"},
		{"it was calm for longer than it was noise", number, false, "xxxx4", "1 3 [5] [7] 0"},
		{"it was calm for less", number, false, "xxxx1", "1 3 [5] [7] [5]"},
		{"a number of entries, first looks", field, true, "xx..x", "1 [3] [2] [1] [1]"},
		{"a number of entries", field, false, "xx....x", "1 [3] [2] [1] 0 0 1"},
		{"a night counts by its looks", field, false, "xxxx3", "1 [3] [5] [7] [1]"},
		{"a region", regionPolicy, false, "xxx.x", "1 3 [5] [4] [4]"},
	} {
		if got := rhythmScript(tc.policy, tc.early, tc.looks); got != tc.want {
			t.Errorf("%s: %s\nwant %s", tc.name, got, tc.want)
		}
	}
}

// Scores and counts of looks end at their bounds.
func TestRhythmBounds(t *testing.T) {
	var s rhythm
	p := policies[slotNumber]
	for n := range uint32(100) {
		s.tick(p, n)
	}
	if s.score != mostScore || s.still != 0 || s.changed != 99 {
		t.Errorf("%+v after 100 changes", s)
	}
	s.rest(p, 2)
	if s.score != mostScore-2 || s.still != 2 {
		t.Errorf("%+v after two calm looks", s)
	}
	s.rest(p, 1000)
	if s.score != mostScore-mostStill || s.still != mostStill {
		t.Errorf("%+v after a thousand calm looks", s)
	}
	f := rhythm{score: 20}
	if f.rest(policies[slotField], 1000); f.score != 0 || f.still != mostStill {
		t.Errorf("%+v: entries' numbers are calm by looks", f)
	}
	s.settle(p, 98, false)
	if !s.masked || s.score == 0 {
		t.Errorf("%+v: a clock that was set back calms nothing", s)
	}
}

// A day of calm ends the longest mask of a page, whatever the looks.
func TestRhythmEndsAfterADay(t *testing.T) {
	s := rhythm{score: mostScore, masked: true, changed: 1000}
	s.rest(policies[slotNumber], 1)
	score := uint32(s.score)
	for _, tc := range []struct {
		at     uint32
		masked bool
	}{{1001, true}, {1000 + score*30 - 1, true}, {1000 + score*30, false}} {
		after := s
		after.settle(policies[slotNumber], tc.at, false)
		if after.masked != tc.masked || after.masked != (after.score > 0) {
			t.Errorf("%d minutes after the last change: %+v", tc.at-1000, after)
		}
	}
	just := rhythm{score: mostScore, masked: true, changed: 1000}
	if just.settle(policies[slotNumber], 1_000_000, false); !just.masked {
		t.Error("no calm look, and no longer masked")
	}
}

func TestMinutes(t *testing.T) {
	for at, want := range map[time.Time]uint32{
		time.Unix(0, 0): 0, time.Unix(59, 0): 0, time.Unix(60, 0): 1, time.Unix(-600, 0): 0, {}: 0,
		time.Unix(60*(1<<32-1), 0): 1<<32 - 1, time.Unix(60*(1<<32), 0): 1<<32 - 1, time.Unix(60*(1<<40), 0): 1<<32 - 1,
	} {
		if got := minutes(at); got != want {
			t.Errorf("minutes(%v) = %d, want %d", at, got, want)
		}
	}
}
