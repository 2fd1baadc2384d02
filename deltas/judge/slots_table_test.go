package judge

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/internal/extracted"
)

// spelt returns a line with its numbers in brackets, and what the numbers are.
func spelt(line string) (shape string, numbers string) {
	var r reader
	r.read(line)
	return strings.ReplaceAll(string(r.shape), "\x00", "#"), strings.Join(r.numbers, "|")
}

// spelling is a line, its words with # for each number, and the numbers.
type spelling struct{ line, shape, numbers string }

func checkSpellings(t *testing.T, spellings []spelling) {
	t.Helper()
	for _, tc := range spellings {
		if shape, numbers := spelt(tc.line); shape != tc.shape || numbers != tc.numbers {
			t.Errorf("%q: %q with %q, want %q with %q", tc.line, shape, numbers, tc.shape, tc.numbers)
		}
	}
}

// What of a line is a number, and what its words.
func TestNumbersOfLines(t *testing.T) {
	checkSpellings(t, []spelling{
		{"", "", ""},
		{"no number", "no number", ""},
		{"7", "#", "7"},
		{"7 of 9", "# of #", "7|9"},
		{"a7", "a#", "7"},
		{"Visitors: 7,093", "Visitors: #", "7,093"},
		{"1.5 and 1,234,567.89", "# and #", "1.5|1,234,567.89"},
		{"at 12:30.", "at #.", "12:30"},
		{"1..2", "#..#", "1|2"},
		{"ends 5,", "ends #,", "5"},
		{"3/4 or 3-4 or 3'4", "# or # or #", "3/4|3-4|3'4"},
		{"-5 and +5", "-# and +#", "5|5"},
		// Units stand with their numbers.
		{"1.2K views", "# views", "1.2K"},
		{"1.2k", "#", "1.2k"},
		{"1.2 K", "# K", "1.2"},
		{"5GB free", "# free", "5GB"},
		{"10 min", "# min", "10"},
		{"10min ago", "# ago", "10min"},
		{"10mins", "#", "10mins"},
		{"10minut", "#minut", "10"},
		{"10minutes", "#minutes", "10"},
		{"3h 20m left", "# left", "3h 20m"},
		{"3h 20m 5s", "#", "3h 20m 5s"},
		{"3h  20m", "#  #", "3h|20m"},
		{"3h 20 left", "# # left", "3h|20"},
		{"3h 20x", "# #x", "3h|20"},
		{"3h 2", "# #", "3h|2"},
		{"3h ", "# ", "3h"},
		{"20m2", "#m#", "20|2"},
		{"5q", "#q", "5"},
	})
}

// Dates are one number with their words.
func TestDatesOfLines(t *testing.T) {
	checkSpellings(t, []spelling{
		{"Mon Nov 2, 2026 3:04 pm", "#", "Mon Nov 2, 2026 3:04 pm"},
		{"on Nov 2, 2026", "on #, #", "Nov 2|2026"},
		{"2 Nov 2026", "#", "2 Nov 2026"},
		{"2 Nov", "#", "2 Nov"},
		{"2 Novice", "# Novice", "2"},
		{"Nov. 2", "#", "Nov. 2"},
		{"1 November 2026, 15:04 UTC, more", "#, more", "1 November 2026, 15:04 UTC"},
		{"2026-11-02 15:04", "#", "2026-11-02 15:04"},
		{"2026/11/02 3:04 pm", "#", "2026/11/02 3:04 pm"},
		{"15:04, 2 points", "#, # points", "15:04|2"},
		{"15:04 Nov 2 x", "# x", "15:04 Nov 2"},
		{"2026-11 5", "# #", "2026-11|5"},
		{"11/02 5:30", "# #", "11/02|5:30"},
		{"7 9:30", "# #", "7|9:30"},
		{"may 5 people", "# people", "may 5"},
		{"dismay 5", "dismay #", "5"},
		{"Monday, 5", "#", "Monday, 5"},
		{"x Monday 5", "x #", "Monday 5"},
		{"Mon-Tue 5", "Mon-#", "Tue 5"},
		{"5 x Nov", "# x Nov", "5"},
		{"15:04:05", "#", "15:04:05"},
		{"5 am", "#", "5 am"},
		{"5 amp", "# amp", "5"},
		{"1 2 3 4 5 Nov x", "# x", "1 2 3 4 5 Nov"},
		{"0 1 2 3 4 5 Nov x", "# # x", "0|1 2 3 4 5 Nov"},
		{"5, , ,Nov x", "# x", "5, , ,Nov"},
		{"5, , , Nov x", "#, , , Nov x", "5"},
		{"9:30 1 2 3 4 5:45 x", "# x", "9:30 1 2 3 4 5:45"},
		{"9:30 0 1 2 3 4 5:45 x", "# # # # # # # x", "9:30|0|1|2|3|4|5:45"},
	})
}

// Tokens are hexadecimal digits, letters among them.
func TestTokensOfLines(t *testing.T) {
	checkSpellings(t, []spelling{
		{"Ray ID: 7a3f9c2b1d4e", "Ray ID: #", "7a3f9c2b1d4e"},
		{"id ab12cd34 x", "id # x", "ab12cd34"},
		{"id ab12cd3 x", "id ab#cd# x", "12|3"},
		{"id 1234567a x", "id #a x", "1234567"},
		{"id 123456ab x", "id # x", "123456ab"},
		{"id AB12-CD34 x", "id # x", "AB12-CD34"},
		{"id AB12CD34- x", "id #- x", "AB12CD34"},
		{"id AB12CD34--5 x", "id #--# x", "AB12CD34|5"},
		{"id xab12cd34", "id x#", "ab12cd34"},
		{"id ab12cd34x", "id #x", "ab12cd34"},
		{"12345678", "#", "12345678"},
		{"1234-5678", "#", "1234-5678"},
		{"f" + strings.Repeat("0", 130) + "e", "#", "f" + strings.Repeat("0", 130) + "e"},
		{"f" + strings.Repeat("e", 20) + "1" + strings.Repeat("d", 20), "#", "f" + strings.Repeat("e", 20) + "1" + strings.Repeat("d", 20)},
		// JSON members without a value.
		{`"votes": null`, `"votes": #`, "null"},
		{`"votes": 7`, `"votes": #`, "7"},
		{`"a 5": null`, `"a #": #`, "5|null"},
		{"the value is null", "the value is null", ""},
		{"null", "null", ""},
	})
}

// Spellings at the edges of numbers, units, dates and tokens.
func TestNumbersAtEdges(t *testing.T) {
	checkSpellings(t, []spelling{
		{"may", "may", ""},
		{", 5", ", #", "5"},
		{"xmay 5", "xmay #", "5"},
		{"a1may 5", "a#", "1may 5"},
		{"sep.5", "#", "sep.5"},
		{"5/6/2026 7:30", "#", "5/6/2026 7:30"},
		{"5/6/2026 7", "# #", "5/6/2026|7"},
		{"5-6-2026 7:30", "#", "5-6-2026 7:30"},
		{"5/6 7:30", "# #", "5/6|7:30"},
		{"1/2/3/4 7:30", "# #", "1/2/3/4|7:30"},
		{"12:30 5:45", "#", "12:30 5:45"},
		{"12:30,5:45", "#", "12:30,5:45"},
		{"12:30 pmx", "# pmx", "12:30"},
		{"5 mayor", "# mayor", "5"},
		{"5 may7", "# may#", "5|7"},
		{"3h, 20m", "#, #", "3h|20m"},
		{"3h-20m", "#-#", "3h|20m"},
		{"3h x", "# x", "3h"},
		{"5secs", "#", "5secs"},
		{"5abcd", "#abcd", "5"},
		{"5mins7", "#mins#", "5|7"},
		{"f1234567 G", "f# G", "1234567"},
		{"f123456f", "#", "f123456f"},
		{"F123456F", "#", "F123456F"},
		{"g123456g", "g#g", "123456"},
		{"G123456G", "G#G", "123456"},
		{"fg123456f", "fg#f", "123456"},
		{"a-1-b-2-c", "a-#-b-#-c", "1|2"},
		{"a-1f-bb-2c", "a-#", "1f-bb-2c"},
		{"ab12 ab12cd34", "ab# #", "12|ab12cd34"},
	})
}

// A number is known by the words next to it, on whatever line it stands.
func TestKeysOfNumbers(t *testing.T) {
	around := func(line string, i int) string {
		var r reader
		r.read(line)
		from, to := r.around(i)
		return strings.ReplaceAll(string(r.shape[from:to]), "\x00", "#")
	}
	for _, tc := range []struct {
		line string
		i    int
		want string
	}{
		{"7", 0, "#"},
		{"Pulls: 7,093", 0, "Pulls: #"},
		{"by Ann, Pulls: 7,093 today and tomorrow", 0, "Pulls: # today"},
		{"a 1 b 2 c", 0, "a # b"},
		{"a 1 b 2 c", 1, "b # c"},
		{"a 1, 2 c", 0, "a #, # c"},
		{"a 1, 2 c", 1, "a #, # c"},
		{"(1) x", 0, "(#) x"},
		{"first last 5", 0, "last #"},
		{"5 first last", 0, "# first"},
		{strings.Repeat("-", 200) + "5" + strings.Repeat("-", 200), 0, strings.Repeat("-", 128) + "#" + strings.Repeat("-", 128)},
		{"first" + strings.Repeat("-", 123) + "5" + strings.Repeat("-", 123) + "last x", 0, "first" + strings.Repeat("-", 123) + "#" + strings.Repeat("-", 123) + "last"},
	} {
		if got := around(tc.line, tc.i); got != tc.want {
			t.Errorf("number %d of %q is known by %q, want %q", tc.i, tc.line, got, tc.want)
		}
	}
	if a, b := newKey(slotNumber, "x"), newKey(slotField, "x"); a == b || a.kind() != slotNumber || b.kind() != slotField {
		t.Errorf("keys %x and %x", a, b)
	}
	if got := newKey(slotField, "Visitors: \x00"); got != 0x6b850981 {
		t.Errorf("the key of what was learned is %#x", uint32(got))
	}
}

// The slots of a line are its numbers, but of the lines that make a content what it is.
func TestSlotsOfLines(t *testing.T) {
	for _, tc := range []struct {
		line, want string
	}{
		{"Visitors: 7", "number 7"},
		{"Last updated: March 5, 2026", "number March 5; number 2026"},
		{"7 places, 3 free", "number 7; number 3"},
		{"", ""},
		{content.EntryLabel + "5", ""},
		{content.TextMagic + "5", ""},
	} {
		var r reader
		var got []string
		r.slots(tc.line, slotNumber, func(key slotKey, value string) {
			got = append(got, [...]string{"number", "field"}[key.kind()]+" "+value)
		})
		if s := strings.Join(got, "; "); s != tc.want {
			t.Errorf("%q: %q, want %q", tc.line, s, tc.want)
		}
	}
}

// Pages whose lines end in "null", as those of broken templates do, are judged as any.
func TestJudgeLinesThatEndInNull(t *testing.T) {
	var o owner
	got := looks(t, &o, 0, bodies(6, func(n int) string {
		return pageOf("The news.", "Visitors: "+strings.Repeat("1", n+1), "Price: null"+strings.Repeat("!", n%2), "null")
	})...)
	if got[:1] != "p" || len(got) != 6 {
		t.Errorf("%s", got)
	}
}

// Rows 24 and 33: long lines of whatever could belong to one number are read, keyed and
// explained in time that grows with their length.
func TestLongLinesAreNotQuadratic(t *testing.T) {
	for _, unit := range []string{"1, ", "1  ", "1 ", "1--", "1 -- ", "1; ", "1 mon ", "mon 1 ", "1h 1 ", "12:30 1 1 1 1 ", "1 12:30 mon, ", "a 1 ", "1-a", "a1--", "a1-", "x1", "1,,", "... "} {
		line := strings.Repeat(unit, 96<<10/len(unit))
		base, next := extracted.Of(t, []byte(`{"a":"`+line+`5"}`)), extracted.Of(t, []byte(`{"a":"`+line+`6"}`))
		var n Noise
		var r reader
		begun := time.Now()
		keys := make(map[slotKey]int)
		r.slots(line, slotNumber, func(key slotKey, _ string) { keys[key]++ })
		n.watch(keys, 0)
		for i := range n.slots {
			n.slots[i].score, n.slots[i].masked = 5, true
		}
		n.makeRoom()
		n.Explain(next)
		Decide(settled(base), nil, base, Observation{Begun: epoch.Add(UsualGap), Core: next})
		if took := time.Since(begun); took > 30*time.Second {
			t.Errorf("%q over and over: %v for %d bytes, %d slots", unit, took, len(line), len(keys))
		}
	}
}
