package codec

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/internal/documents"
	"github.com/seed-91e7e7c1/corona/deltas/internal/extracted"
)

// words returns a text of so many lines, of words that a seed chooses.
func words(seed uint32, lines int) []string {
	vocabulary := strings.Fields("the of and a to in is was he for it with as his on be at by had not are but from or have an they which one you were all her she there would their we him been has when will more no if out so said what up its about 2026 17:40 3,141 über 漢字 naïve http://example.com/x")
	text := make([]string, lines)
	for i := range text {
		var line []string
		for range 4 + seed>>8%9 {
			seed = seed*1664525 + 1013904223
			line = append(line, vocabulary[seed>>16%uint32(len(vocabulary))])
		}
		text[i] = strings.Join(line, " ")
	}
	return text
}

// deltaPairs returns pairs of contents as channels have them.
func deltaPairs(t *testing.T) map[string][2]*content.Core {
	text := func(lines ...[]string) *content.Core {
		return extracted.Of(t, []byte(strings.Join(slices.Concat(lines...), "\n")))
	}
	long, other := words(1, 60), words(2, 12)
	counted := func(n int) *content.Core {
		lines := words(3, 30)
		for i := range lines {
			lines[i] += fmt.Sprint(" Views: ", 1000*i+n*i)
		}
		return text(lines)
	}
	return map[string][2]*content.Core{
		"a line put in":          {text(long), text(long[:30], other[:1], long[30:])},
		"lines put in":           {text(long), text(long[:10], other, long[10:])},
		"a line taken away":      {text(long), text(long[:20], long[21:])},
		"a line moved":           {text(long), text(long[:5], long[40:41], long[5:40], long[41:])},
		"a word changed":         {text(long), text(long[:30], []string{strings.Replace(long[30], " ", " indeed ", 1)}, long[31:])},
		"numbers":                {counted(1), counted(3)},
		"most is new":            {text(long[:8]), text(other, words(4, 20))},
		"the end":                {text(long), text(long, []string{"The end."})},
		"the beginning":          {text(long), text([]string{"Once upon a time."}, long)},
		"a repeated line":        {text(long), text(long[:30], slices.Repeat([]string{"again and again"}, 20), long[30:])},
		"what stood elsewhere":   {text(long, other), text(long[:30], other[3:9], long[30:], other)},
		"a feed's new entry":     {extracted.Of(t, documents.Stories(5, 4, 3, 2, 1)), extracted.Of(t, documents.Stories(6, 5, 4, 3, 2))},
		"another kind":           {extracted.Of(t, documents.Stories(5, 4, 3)), text(long)},
		"many small changes":     {text(long), text(everyOther(long))},
		"a long line":            {text([]string{strings.Join(long, " ")}), text([]string{strings.Join(long[:30], " ") + " and " + strings.Join(long[30:], " ")})},
		"nothing that was there": {text(words(5, 40)), text(words(6, 40))},
	}
}

func everyOther(lines []string) []string {
	lines = slices.Clone(lines)
	for i := range lines {
		if i%2 == 0 {
			lines[i] += " too"
		}
	}
	return lines
}

// The format of deltas, to the byte. Nodes of two releases patch with each other's
// deltas: what a delta is made of, each constant of the prediction included, changes only
// with its version. A digest stands for each delta; see [TestDeltasOfOtherReleases] for
// what others have made.
func TestDeltasAreFixed(t *testing.T) {
	want := map[string]string{
		"a feed's new entry":     "29 32b2c88855474",
		"a line moved":           "15 e5b05494dc788",
		"a line put in":          "17 bef59d1f91216",
		"a line taken away":      "10 b5860c4502265",
		"a long line":            "17 7bacc7bcb8df9",
		"a repeated line":        "19 943eabfc070a2",
		"a word changed":         "16 e6e346cbe6a3c",
		"another kind":           "626 a3f0401689c4",
		"lines put in":           "113 6bac91657ffa",
		"many small changes":     "61 a2051e7b7ec53",
		"most is new":            "314 bb9527e994b7",
		"nothing that was there": "355 ecb56bc8e4c7",
		"numbers":                "73 11f1d2e2a36ed",
		"the beginning":          "18 99c98efa09709",
		"the end":                "14 579bfd45a115c",
		"what stood elsewhere":   "15 872cfa85f4cb0",
	}
	for name, pair := range deltaPairs(t) {
		delta := Encode(pair[0], pair[1])
		if got := fmt.Sprintf("%d %x", len(delta), sha256.Sum256(delta))[:16]; got != want[name] {
			t.Errorf("%s: %q, want %q", name, got, want[name])
		}
		if next, err := Apply(pair[0], delta); err != nil || next.Hash != pair[1].Hash {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Deltas that an earlier release has made.
func TestDeltasOfOtherReleases(t *testing.T) {
	pairs := deltaPairs(t)
	for name, stored := range map[string]string{
		"a line put in":      "BnBEknsr62D66fcryE1Ibqs=",
		"numbers":            "BqvEMXFhZGcIhEAAJN/kkV6LAWlwgCt3oI8EH7bbs9h7w/2BgHXFpsh5BsbPzdRbzeIWLMO0jc7Y5Mm2J985znXeBEMd/hVjDQ==",
		"a feed's new entry": "Bn8THvqSC0jQ9MolBL9wmq+NDoyehJbBs4YLF+M=",
	} {
		delta, err := base64.StdEncoding.DecodeString(stored)
		if err != nil {
			t.Fatal(err)
		}
		if next, err := Apply(pairs[name][0], delta); err != nil || next.Hash != pairs[name][1].Hash {
			t.Errorf("%q: %v; today it is %q", name, err, base64.StdEncoding.EncodeToString(Encode(pairs[name][0], pairs[name][1])))
		}
	}
}

// The range coder, to the byte: bits at probabilities from sure to most unlikely.
func TestBitsAreFixed(t *testing.T) {
	type bit struct {
		value int
		p     uint32
	}
	even := func(pattern string) (bits []bit) {
		for _, c := range pattern {
			bits = append(bits, bit{int(c - '0'), 1 << 15})
		}
		return bits
	}
	for _, tc := range []struct {
		name string
		bits []bit
		want string
	}{
		{"nothing", nil, ""},
		{"a one", even("1"), ""},
		{"a zero", even("0"), "ff"},
		{"eight bits", even("01011010"), "a5"},
		{"sure ones", slices.Repeat([]bit{{1, 65535}}, 1000), ""},
		{"unlikely ones", slices.Repeat([]bit{{1, 1}}, 6), "000000000000000000000000"},
		{"sure zeros", slices.Repeat([]bit{{0, 1}}, 1000), "ff"},
		{"unlikely zeros", slices.Repeat([]bit{{0, 65535}}, 6), "ffffffffffffffffffffffff"},
		{"mixed", []bit{{1, 40000}, {0, 40000}, {0, 3}, {1, 65000}, {1, 7}, {0, 65535}, {1, 32768}, {0, 100}, {1, 60000}}, "5f606d52"},
	} {
		w := newBitWriter([]byte{0xaa})
		for _, b := range tc.bits {
			if w.code(b.value, b.p) != b.value {
				t.Fatalf("%s: another bit", tc.name)
			}
		}
		out := w.close()
		if got := fmt.Sprintf("%x", out[1:]); got != tc.want || out[0] != 0xaa {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
		r := newBitReader(out[1:])
		for i, b := range tc.bits {
			if got := r.code(1-b.value, b.p); got != b.value {
				t.Fatalf("%s: bit %d is %d", tc.name, i, got)
			}
		}
		if r.cut() {
			t.Errorf("%s: cut, but all was there", tc.name)
		}
		for range 64 {
			r.bit(1 << 15)
		}
		if !r.cut() {
			t.Errorf("%s: 64 bits more were there", tc.name)
		}
	}
}

// Numbers of every size read back, and have their lengths.
func TestNumbersAreFixed(t *testing.T) {
	var all []int
	for bit := range 31 {
		all = append(all, 1<<bit-1, 1<<bit, 1<<bit+1)
	}
	all = append(all, 1<<31-2, 0, 0, 5, 5, 5)
	all = slices.DeleteFunc(all, func(n int) bool { return n > 1<<31-2 })
	w := newBitWriter(nil)
	var n numbers
	for _, value := range all {
		if n.code(w, value) != value {
			t.Fatalf("%d is written as another", value)
		}
	}
	out := w.close()
	if got := fmt.Sprintf("%d %x", len(out), sha256.Sum256(out))[:16]; got != "248 eadcf744da80" {
		t.Errorf("now %q", got)
	}
	r := newBitReader(out)
	n = numbers{}
	for _, value := range all {
		if got := n.code(r, 0); got != value {
			t.Fatalf("%d is read as %d", value, got)
		}
	}
}

// A counter moves fast at first, and goes on moving at its limit.
func TestCounters(t *testing.T) {
	var script strings.Builder
	c := newCounter(1 << 15)
	for n, bit := range []int{1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 0} {
		if n%3 == 0 {
			fmt.Fprintf(&script, "%d ", c.probability())
		}
		c.learn(bit, 4)
	}
	fmt.Fprint(&script, c.probability(), " ", uint32(c)&0x3ff)
	if got := script.String(); got != "2048 3754 2714 3330 2847 4" {
		t.Errorf("now %q", got)
	}
	if p := newCounter(655).probability(); p != 40 {
		t.Errorf("a counter that expects 1 in 100 says %d of 4096", p)
	}
}

// A packed content, to the byte.
func TestPacksAreFixed(t *testing.T) {
	packed := NewPacker(1).Append(nil, extracted.Of(t, []byte(strings.Join(words(7, 5), "\n"))))
	if back, err := NewPacker(1).Unpack(packed); err != nil || !bytes.Contains(back.Text, []byte(words(7, 5)[4])) {
		t.Errorf("%v", err)
	}
}

// Deltas are made and applied at their shortest, and notes travel with what is new.
func TestDeltaEdges(t *testing.T) {
	feed := extracted.Of(t, documents.Stories(2, 1))
	same := Encode(feed, feed)
	if got, err := Apply(feed, same); err != nil || !bytes.Equal(got.Text, feed.Text) {
		t.Errorf("the same: %v", err)
	}
	whole := Encode(nil, feed)
	if got, err := Apply(nil, whole); err != nil || !bytes.Equal(got.Text, feed.Text) || whole[0] != deltaFrame {
		t.Errorf("without a base: %v", err)
	}
	if _, err := Apply(nil, append([]byte{deltaScript}, whole[1:]...)); err == nil || !strings.Contains(err.Error(), "a script without a base") {
		t.Errorf("a script without a base: %v", err)
	}
	redated := documents.Story(1)
	redated.Date, redated.Text = "Wed, 31 Dec 2031 00:00:00 GMT", "Otherwise."
	next := extracted.Of(t, documents.RSS("", documents.Story(2), redated))
	got, err := Apply(feed, Encode(feed, next))
	if err != nil || extracted.IDs(got.Entries) != "id-1 id-2" || got.Entries[0].Published != "2031-12-31T00:00:00Z" || got.Entries[1].Published != "2026-01-01T02:00:00Z" {
		t.Errorf("an entry with other dates and another text: %v, %s", err, got.Text)
	}
}
