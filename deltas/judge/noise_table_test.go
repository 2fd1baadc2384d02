package judge

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/internal/documents"
	"github.com/seed-91e7e7c1/corona/deltas/internal/extracted"
)

// numberSlot returns a slot of a page's number, masked or not.
func numberSlot(shape string, score uint8, masked bool) slot {
	return slot{key: newKey(slotNumber, shape), rhythm: rhythm{score: score, masked: masked}}
}

// Entries that leave from anywhere are learned from three changes on, at which others
// than the oldest went, and unlearned as slowly.
func TestNoiseLearnsWindow(t *testing.T) {
	feed := func(numbers ...int) *content.Core { return extracted.Of(t, documents.Stories(numbers...)) }
	base := feed(5, 4, 3, 2, 1)
	for _, tc := range []struct {
		name   string
		next   *content.Core
		chosen uint8
		want   uint8
	}{
		{"one withdrawn when one came", feed(6, 5, 3, 2, 1), 0, 1},
		{"again", feed(6, 5, 3, 2, 1), 2, 3},
		{"and again, up to a bound", feed(6, 5, 3, 2, 1), mostChosen, mostChosen},
		{"the oldest left when one came", feed(6, 5, 4, 3, 2), 3, 2},
		{"the oldest left, and nothing was learned", feed(6, 5, 4, 3, 2), 0, 0},
		{"none left when one came", feed(6, 5, 4, 3, 2, 1), 3, 3},
		{"one withdrawn when none came", feed(5, 3, 2, 1), 3, 3},
		{"the oldest left when none came", feed(5, 4, 3, 2), 3, 3},
		{"all others", feed(9, 8, 7, 6), 3, 3},
		{"all gone", feed(), 3, 3},
	} {
		n := Noise{chosen: tc.chosen}
		if n.learnWindow(base, tc.next); n.chosen != tc.want {
			t.Errorf("%s: score %d from %d, want %d", tc.name, n.chosen, tc.chosen, tc.want)
		}
	}
	less := feed(5, 3, 2, 1)
	for chosen, withdrawn := range map[uint8]int{0: 1, chosenFrom - 1: 1, chosenFrom: 0, mostChosen: 0} {
		c := Noise{chosen: chosen}.compare(base, less)
		if len(c.withdrawn) != withdrawn || len(c.left) != 1-withdrawn {
			t.Errorf("score %d: %d withdrawn, %d left", chosen, len(c.withdrawn), len(c.left))
		}
	}
}

// A channel's first eight looks are counted, those without a report too.
func TestNoiseCountsLooks(t *testing.T) {
	base, next := extracted.Of(t, []byte("a\nb\nc")), extracted.Of(t, []byte("a\nb\nd"))
	var n Noise
	for look := 1; look <= 12; look++ {
		if n = n.learn(base, next, uint32(look)); int(n.looks) != min(look, earlyLooks) {
			t.Errorf("%d looks after %d", n.looks, look)
		}
	}
	for _, tc := range []struct{ before, looks, want int }{{0, 0, 0}, {0, 3, 3}, {2, 3, 5}, {2, 6, 8}, {2, 7, 8}, {2, 1000, 8}} {
		if got := (Noise{looks: uint8(tc.before)}).rest(tc.looks, 9); int(got.looks) != tc.want {
			t.Errorf("%d looks after %d and %d", got.looks, tc.before, tc.looks)
		}
	}
}

// What changed at the first looks is masked sooner than what begins to change later.
func TestNoiseEarlyLooks(t *testing.T) {
	masked := func(looks uint8) (n int) {
		noise := Noise{looks: looks}
		for n = 1; ; n++ {
			was := extracted.Of(t, []byte(fmt.Sprint("a\nVisitors: ", n)))
			is := extracted.Of(t, []byte(fmt.Sprint("a\nVisitors: ", n+1)))
			noise = noise.learn(was, is, uint32(30*n))
			if len(noise.slots) != 1 || n > 9 {
				t.Fatalf("%d slots after %d looks", len(noise.slots), n)
			}
			if noise.slots[0].masked {
				return n
			}
		}
	}
	for looks, want := range map[uint8]int{0: 2, earlyLooks - 3: 2, earlyLooks - 2: 3, earlyLooks: 3} {
		if got := masked(looks); got != want {
			t.Errorf("after %d looks a counter is masked after %d changes, want %d", looks, got, want)
		}
	}
}

// What changes back to what the last look showed has not changed since.
func TestNoiseComparesWithTheLastLook(t *testing.T) {
	page := func(n int) *content.Core { return extracted.Of(t, []byte(fmt.Sprint("a\nVisitors: ", n))) }
	base := page(1)
	n := Noise{looks: earlyLooks}.learn(base, page(2), 30)
	if len(n.slots) != 1 || n.slots[0].score != 1 || n.slots[0].still != 0 {
		t.Fatalf("%+v", n.slots)
	}
	same := n.learn(base, page(2), 60)
	if len(same.slots) != 0 {
		t.Errorf("the same again: %+v, want calm", same.slots)
	}
	other := n.learn(base, page(3), 60)
	if len(other.slots) != 1 || other.slots[0].score != 3 {
		t.Errorf("another number: %+v", other.slots)
	}
	if len(n.slots) != 1 || n.slots[0].score != 1 {
		t.Errorf("learning changed what it was given: %+v", n.slots)
	}
}

// Room is made by forgetting what has the lowest scores of its kind, the first of those
// that are as low.
func TestNoiseForgets(t *testing.T) {
	score := func(n int) (int, bool) { return n % 100, n < 1000 }
	for _, tc := range []struct {
		list []int
		most int
		want []int
	}{
		{nil, 2, nil},
		{[]int{5, 3, 8}, 3, []int{5, 3, 8}},
		{[]int{5, 3, 8}, 4, []int{5, 3, 8}},
		{[]int{5, 3, 8}, 2, []int{5, 8}},
		{[]int{5, 3, 8}, 1, []int{8}},
		{[]int{5, 3, 8}, 0, nil},
		{[]int{103, 203, 303, 4}, 2, []int{303, 4}},
		{[]int{103, 203, 303, 4}, 3, []int{203, 303, 4}},
		{[]int{9, 1001, 1, 1002, 5}, 2, []int{9, 1001, 1002, 5}},
		{[]int{1001, 1002}, 0, []int{1001, 1002}},
	} {
		if got := forget(slices.Clone(tc.list), tc.most, score); !slices.Equal(got, tc.want) {
			t.Errorf("%v, at most %d: %v, want %v", tc.list, tc.most, got, tc.want)
		}
	}
	var n Noise
	for kind := range slotKinds {
		for i := range 40 {
			n.watch(map[slotKey]int{newKey(kind, strings.Repeat("x", i)): 1}, 0)
		}
	}
	for i := range n.slots {
		n.slots[i].score = uint8(i%40 + 1)
	}
	for i := range 12 {
		n.regions = append(n.regions, region{before: uint32(i), rhythm: rhythm{score: uint8(i + 1)}})
	}
	n.makeRoom()
	count := map[slotKind]int{}
	for i, s := range n.slots {
		count[s.key.kind()]++
		if least := uint8(41 - room[s.key.kind()]); s.score < least {
			t.Errorf("score %d is kept, the lowest to keep is %d", s.score, least)
		}
		if i > 0 && n.slots[i-1].key >= s.key {
			t.Error("slots are out of order")
		}
	}
	if len(n.slots) != maxSlots || count[slotNumber] != 32 || count[slotField] != 16 || len(n.regions) != 8 || n.regions[0].score != 5 {
		t.Errorf("%v slots and %d regions kept", count, len(n.regions))
	}
}

// The epoch counts changes of what is masked, and only those.
func TestNoiseSameMasks(t *testing.T) {
	place := func(before uint32, masked bool, seen sketch) Noise {
		return Noise{regions: []region{{before: before, seen: seen, rhythm: rhythm{score: 5, masked: masked}}}}
	}
	slots := func(s ...slot) Noise { return Noise{slots: s} }
	for _, tc := range []struct {
		name string
		a, b Noise
		want bool
	}{
		{"nothing", Noise{}, Noise{}, true},
		{"a number that is not masked", Noise{}, slots(numberSlot("x", 1, false)), true},
		{"a number that is", Noise{}, slots(numberSlot("x", 5, true)), false},
		{"the same number", slots(numberSlot("x", 9, true)), slots(numberSlot("x", 5, true)), true},
		{"another number", slots(numberSlot("x", 5, true)), slots(numberSlot("y", 5, true)), false},
		{"a number of entries that is masked", Noise{}, slots(slot{key: newKey(slotField, "x"), rhythm: rhythm{score: 4, masked: true}}), false},
		{"a place that is not masked", Noise{}, place(1, false, sketch{}), true},
		{"a place that is", Noise{}, place(1, true, sketch{}), false},
		{"the same place", place(1, true, sketch{}), place(1, true, sketch{}), true},
		{"another place", place(1, true, sketch{}), place(2, true, sketch{}), false},
		{"the same place that has shown more", place(1, true, sketch{}), place(1, true, sketch{1}), false},
		{"entries not chosen yet", Noise{}, Noise{chosen: chosenFrom - 1}, true},
		{"entries chosen", Noise{}, Noise{chosen: chosenFrom}, false},
		{"entries chosen before", Noise{chosen: chosenFrom}, Noise{chosen: mostChosen}, true},
	} {
		if tc.a.sameMasks(tc.b) != tc.want || tc.b.sameMasks(tc.a) != tc.want {
			t.Errorf("%s: the same %v, want %v", tc.name, !tc.want, tc.want)
		}
		after := tc.b.settled(tc.a, 0)
		if changed := after.Epoch != 0; changed != !after.sameMasks(tc.a) {
			t.Errorf("%s: epoch %d", tc.name, after.Epoch)
		}
	}
}

// What is calm is forgotten.
func TestNoiseSettles(t *testing.T) {
	calm := func(kind slotKind) slot { return slot{key: newKey(kind, "x"), rhythm: rhythm{still: 2}} }
	n := Noise{slots: []slot{calm(slotNumber), numberSlot("y", 1, false), calm(slotField)}, regions: []region{{before: 1}, {before: 2, rhythm: rhythm{score: 1}}}}
	slices.SortFunc(n.slots, func(a, b slot) int { return int(int64(a.key) - int64(b.key)) })
	n = n.settled(Noise{}, 0)
	kinds := make([]slotKind, len(n.slots))
	for i, s := range n.slots {
		kinds[i] = s.key.kind()
	}
	if !slices.Equal(kinds, []slotKind{slotNumber}) || len(n.regions) != 1 || n.regions[0].before != 2 {
		t.Errorf("%+v", n)
	}
}

// A mask hides a change, and what stands afterwards only once it is old: what young masks
// hide and stays is shown by the face without them.
func TestNoiseBeneath(t *testing.T) {
	base, next := extracted.Of(t, []byte("a\nVisitors: 1\nb")), extracted.Of(t, []byte("a\nVisitors: 2\nb"))
	words := extracted.Of(t, []byte("a\nVisitors: 1\nb"))
	for _, tc := range []struct {
		name  string
		noise Noise
		next  *content.Core
		news  bool
	}{
		{"nothing masked", Noise{}, next, false},
		{"a young mask", Noise{slots: []slot{numberSlot("Visitors: \x00", matureFrom-1, true)}}, next, true},
		{"an old mask", Noise{slots: []slot{numberSlot("Visitors: \x00", matureFrom, true)}}, next, false},
		{"a young mask that hides nothing", Noise{slots: []slot{numberSlot("Visitors: \x00", matureFrom-1, true)}}, words, false},
		{"a young mask of entries", Noise{slots: []slot{{key: newKey(slotField, "Visitors: \x00"), rhythm: rhythm{score: 3, masked: true}}}}, next, false},
	} {
		obs := Observation{Begun: epoch, Core: tc.next}
		s := newSight(tc.noise, base, obs)
		shows, news := tc.noise.beneath(s)
		if news != tc.news || !news && shows != tc.next.Hash || news && shows != faceOf(tc.next) {
			t.Errorf("%s: news %v, known by %x", tc.name, news, shows)
		}
		without := newSight(tc.noise, nil, obs)
		if shows, news := tc.noise.beneath(without); news || shows != tc.next.Hash {
			t.Errorf("%s: news %v without the current content", tc.name, news)
		}
		if len(tc.noise.slots) > 0 && !tc.noise.slots[0].masked {
			t.Errorf("%s: looking has changed the masks", tc.name)
		}
	}
	page := func(sky string) *content.Core {
		return extracted.Of(t, []byte(strings.Join(append([]string{"The news of today.", sky}, numbered(20)...), "\n")))
	}
	sunny, cloudy := page("Sunny"), page("Cloudy")
	var n Noise
	var m masker
	lines := m.pagedOf(sunny.Body())
	n.watchRegion(lines, run{1, 2})
	for score, news := range map[uint8]bool{matureFrom - 1: true, matureFrom: false} {
		n.regions[0].masked, n.regions[0].score = true, score
		n.regions[0].learn(lines, run{1, 2})
		s := newSight(n, sunny, Observation{Begun: epoch, Core: cloudy})
		if s.face == faceOf(cloudy) || s.face != n.face(n.view(sunny)) {
			t.Error("the region hides nothing")
		}
		if shows, got := n.beneath(s); got != news || news && shows != faceOf(cloudy) {
			t.Errorf("a region of score %d: news %v", score, got)
		}
	}
}

// How many looks there were since the last that taught anything.
func TestStateLooks(t *testing.T) {
	s := State{Looked: epoch}
	for _, tc := range []struct {
		passed, every time.Duration
		want          int
	}{
		{time.Minute, 0, 1}, {UsualGap, 0, 1}, {44 * time.Minute, 0, 1}, {45 * time.Minute, 0, 2}, {time.Hour, 0, 2}, {24 * time.Hour, 0, 48},
		{24 * time.Hour, -1, 48}, {24 * time.Hour, time.Minute, 255}, {254 * time.Minute, time.Minute, 254}, {255 * time.Minute, time.Minute, 255},
		{5 * time.Minute, time.Minute, 5}, {time.Second, time.Minute, 1}, {10, 1, 10}, {10000 * time.Hour, time.Hour, 255},
	} {
		if got := s.looks(Observation{Begun: epoch.Add(tc.passed), Every: tc.every}); got != tc.want {
			t.Errorf("%v at one look each %v: %d looks, want %d", tc.passed, tc.every, got, tc.want)
		}
	}
}

// While nothing is reported the current content stands, and flapping calms: a flap for
// each eight looks.
func TestStateRests(t *testing.T) {
	base := extracted.Of(t, []byte("a\nb"))
	for _, tc := range []struct {
		name   string
		passed time.Duration
		base   *content.Core
		stood  bool
		flaps  uint8
		looks  uint8
	}{
		{"one look", UsualGap, base, false, 5, 0},
		{"two looks", 2 * UsualGap, base, true, 5, 1},
		{"seven looks", 7 * UsualGap, base, true, 5, 6},
		{"eight looks", 8 * UsualGap, base, true, 4, 7},
		{"sixteen looks", 16 * UsualGap, base, true, 3, 8},
		{"a week", 7 * 24 * time.Hour, base, true, 0, 8},
		{"a report of before", -UsualGap, base, false, 5, 0},
		{"a report of then", 0, base, false, 5, 0},
		{"the current content is not known", 16 * UsualGap, nil, false, 5, 0},
	} {
		s := State{Extractor: 1, Looked: epoch, Flaps: 5}.rest(tc.base, Observation{Begun: epoch.Add(tc.passed), Core: base})
		if s.Stood != tc.stood || s.Flaps != tc.flaps || s.Noise.looks != tc.looks {
			t.Errorf("%s: stood %v, %d flaps, %d looks; want %v, %d, %d", tc.name, s.Stood, s.Flaps, s.Noise.looks, tc.stood, tc.flaps, tc.looks)
		}
	}
	if s := (State{Extractor: 1, Flaps: 5}).rest(base, Observation{Begun: epoch, Core: base}); s.Flaps != 5 || s.Noise.looks != 0 {
		t.Errorf("before the first look: %+v", s)
	}
	if s := (State{Extractor: 1, Looked: epoch, Flaps: 1, Stood: true}).rest(base, Observation{Begun: epoch.Add(UsualGap), Core: base}); !s.Stood || s.Flaps != 1 {
		t.Errorf("what stood stands: %+v", s)
	}
}

func TestStatePatience(t *testing.T) {
	for flaps, want := range map[uint8]uint8{0: 2, 1: 2, 2: 4, 3: 6, maxFlaps: 16} {
		if got := (State{Flaps: flaps}).patience(); got != want {
			t.Errorf("%d flaps: %d polls, want %d", flaps, got, want)
		}
	}
	if s := (State{Flaps: maxFlaps - 1}).flap(); s.Flaps != maxFlaps || s.flap().Flaps != maxFlaps {
		t.Errorf("%d flaps", s.Flaps)
	}
}

// What takes the place of the current content, and what is remembered of that.
func TestStateMoves(t *testing.T) {
	to := sight{Observation: Observation{Begun: epoch, Core: &content.Core{Hash: content.Hash{9}}}, face: content.Hash{8}}
	for _, tc := range []struct {
		name   string
		from   State
		recent []content.Hash
	}{
		{"the first content", State{Current: content.Hash{1}, Face: content.Hash{2}}, []content.Hash{}},
		{"another", State{Extractor: 1, Current: content.Hash{1}, Face: content.Hash{2}}, []content.Hash{{1}, {2}}},
		{"another without noise", State{Extractor: 1, Current: content.Hash{1}, Face: content.Hash{1}}, []content.Hash{{1}}},
		{"one with the same face", State{Extractor: 1, Current: content.Hash{1}, Face: content.Hash{8}}, []content.Hash{}},
		{"one that was here before", State{Extractor: 1, Current: content.Hash{1}, Face: content.Hash{2}, Recent: []content.Hash{{9}, {8}, {3}}}, []content.Hash{{3}, {1}, {2}}},
		{"the current was here before", State{Extractor: 1, Current: content.Hash{1}, Face: content.Hash{2}, Recent: []content.Hash{{1}, {3}}}, []content.Hash{{1}, {3}, {2}}},
	} {
		tc.from.Shown, tc.from.Looked, tc.from.Flaps, tc.from.Noise.Epoch, tc.from.Stood, tc.from.Candidate = epoch.Add(-1), epoch.Add(1), 3, 4, true, &Candidate{}
		next := tc.from.move(to)
		if !slices.Equal(next.Recent, tc.recent) {
			t.Errorf("%s: recent %x, want %x", tc.name, next.Recent, tc.recent)
		}
		if next.Current != (content.Hash{9}) || next.Face != (content.Hash{8}) || !next.Shown.Equal(epoch) || !next.Looked.Equal(epoch.Add(1)) || next.Flaps != 3 || next.Noise.Epoch != 4 || next.Stood || next.Candidate != nil || next.Extractor != content.ExtractorVersion {
			t.Errorf("%s: %+v", tc.name, next)
		}
	}
	if s := (State{Recent: []content.Hash{{5}, {6}}}); !s.returns(sight{Observation: to.Observation, face: content.Hash{5}}) || s.returns(to) || !(State{Recent: []content.Hash{{9}}}).returns(to) {
		t.Error("returns are known by their faces, or their own hashes")
	}
}

// A candidate waits on under other masks by what it is known by then; another look's goes.
func TestStateLearnsAroundCandidates(t *testing.T) {
	page := func(news string, n int) *content.Core {
		return extracted.Of(t, []byte(fmt.Sprint("a\nb\n", news, "\nVisitors: ", n)))
	}
	base, next := page("c", 1), page("d", 2)
	begun := epoch.Add(UsualGap)
	young := Noise{slots: []slot{numberSlot("Visitors: \x00", 2, false)}}
	state := settled(base)
	state.Noise = young
	state.Candidate = &Candidate{Hash: faceOf(next), Begun: begun, Polls: 1}
	after := state.learn(base, Observation{Begun: begun, Core: next})
	if !after.Noise.slots[0].masked || after.Noise.Epoch != 1 || after.Face == state.Face || !after.Looked.Equal(begun) {
		t.Fatalf("%+v", after)
	}
	if c := after.Candidate; c == nil || c.Polls != 1 || c.Hash == faceOf(next) || c.Hash != after.Noise.face(after.Noise.view(next)) {
		t.Errorf("the candidate of this look is %+v", c)
	}
	state.Candidate.Begun = epoch
	if after := state.learn(base, Observation{Begun: begun, Core: next}); after.Candidate != nil {
		t.Errorf("the candidate of an earlier look is %+v", after.Candidate)
	}
	state.Noise = Noise{}
	if after := state.learn(base, Observation{Begun: begun, Core: next}); after.Candidate == nil || after.Candidate.Hash != faceOf(next) || after.Face != state.Face {
		t.Errorf("under the same masks: %+v", after)
	}
}

// Numbers of entries tick where half of the entries that both have show it.
func TestTicksOfEntries(t *testing.T) {
	feed := func(counts ...int) *content.Core {
		items := make([]documents.Item, len(counts))
		for i, n := range counts {
			items[i] = documents.Story(len(counts) - i)
			items[i].Text = fmt.Sprint("Pulls: ", n)
		}
		return extracted.Of(t, documents.RSS("", items...))
	}
	key := newKey(slotField, "Pulls: \x00")
	for _, tc := range []struct {
		name       string
		base, next *content.Core
		count      int
		changed    bool
	}{
		{"none", feed(1, 2, 3, 4), feed(1, 2, 3, 4), 0, false},
		{"one of four", feed(1, 2, 3, 4), feed(1, 2, 3, 5), 1, false},
		{"two of four", feed(1, 2, 3, 4), feed(1, 2, 7, 5), 2, true},
		{"two of five", feed(1, 2, 3, 4, 5), feed(1, 2, 3, 8, 9), 2, false},
		{"all", feed(1, 2), feed(3, 4), 2, true},
	} {
		ticks := compareSlots(tc.base, tc.next)
		if ticks.slots[key] != tc.count || ticks.changed(key) != tc.changed || ticks.units != len(tc.base.Entries) {
			t.Errorf("%s: %v of %d, changed %v", tc.name, ticks.slots, ticks.units, ticks.changed(key))
		}
	}
	page := compareSlots(extracted.Of(t, []byte("a 1\nb\nc\nd")), extracted.Of(t, []byte("a 2\nb\nx\nd")))
	if number := newKey(slotNumber, "a \x00"); len(page.slots) != 1 || !page.changed(number) || page.changed(number+1) {
		t.Errorf("slots of a page: %v", page.slots)
	}
	if fmt.Sprint(page.left, page.come) != "[2] [2]" {
		t.Errorf("lines that left %v and came %v", page.left, page.come)
	}
	only := compareSlots(extracted.Of(t, []byte("a 1\nb")), extracted.Of(t, []byte("a 2\nb")))
	if len(only.left)+len(only.come) > 0 {
		t.Errorf("a number's change makes a region: %+v", only)
	}
	titled := func(n int) *content.Core {
		return extracted.Of(t, []byte(fmt.Sprintf("<html><title>%d new</title><p>x", n)))
	}
	if got := compareSlots(titled(1), titled(2)).slots; len(got) != 1 {
		t.Errorf("slots of titles: %v", got)
	}
}
