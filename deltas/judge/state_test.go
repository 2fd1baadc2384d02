package judge

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/extract"
	"github.com/seed-91e7e7c1/corona/deltas/internal/documents"
)

func anyState() *rapid.Generator[State] {
	hash := rapid.Custom(func(t *rapid.T) content.Hash {
		return content.HashOf(rapid.SliceOfN(rapid.Byte(), 1, 2).Draw(t, "content"))
	})
	begun := rapid.Custom(func(t *rapid.T) time.Time {
		if rapid.Bool().Draw(t, "none") {
			return time.Time{}
		}
		return epoch.Add(time.Duration(rapid.Int64Range(-1e18, 1e18).Draw(t, "begun")))
	})
	return rapid.Custom(func(t *rapid.T) State {
		s := State{
			Extractor: rapid.Uint16().Draw(t, "extractor"), Current: hash.Draw(t, "current"), Shown: begun.Draw(t, "shown"),
			Recent: rapid.SliceOfN(hash, 0, maxRecent).Draw(t, "recent"), Flaps: rapid.Uint8Range(0, maxFlaps).Draw(t, "flaps"), Stood: rapid.Bool().Draw(t, "stood"),
		}
		s.Face, s.Looked = hash.Draw(t, "face"), begun.Draw(t, "looked")
		s.Noise = Noise{
			Epoch: rapid.Uint16().Draw(t, "epoch"), looks: rapid.Uint8Range(0, earlyLooks).Draw(t, "looks"), chosen: rapid.Uint8Range(0, mostChosen).Draw(t, "chosen"),
		}
		for _, key := range slices.Sorted(slices.Values(rapid.SliceOfNDistinct(rapid.Uint32Range(0, uint32(slotKinds)<<30-1), 0, maxSlots, rapid.ID).Draw(t, "keys"))) {
			s.Noise.slots = append(s.Noise.slots, slot{slotKey(key), rapid.Uint32().Draw(t, "last"), anyRhythm().Draw(t, "rhythm")})
		}
		for _, before := range slices.Sorted(slices.Values(rapid.SliceOfNDistinct(rapid.Uint32(), 0, maxRegions, rapid.ID).Draw(t, "regions"))) {
			s.Noise.regions = append(s.Noise.regions, region{
				before: before, after: rapid.Uint32().Draw(t, "after"), last: rapid.Uint32().Draw(t, "last"),
				seen: sketch{rapid.Uint64().Draw(t, "seen"), 7: rapid.Uint64().Draw(t, "seen")}, rhythm: anyRhythm().Draw(t, "rhythm"),
			})
		}
		if rapid.Bool().Draw(t, "candidate") {
			s.Candidate = &Candidate{Hash: hash.Draw(t, "hash"), Begun: begun.Draw(t, "at"), Polls: rapid.Uint8().Draw(t, "polls"), Gone: rapid.SliceOfN(rapid.Uint32(), 0, maxGone).Draw(t, "gone")}
		}
		return s
	})
}

func anyRhythm() *rapid.Generator[rhythm] {
	return rapid.Custom(func(t *rapid.T) rhythm {
		return rhythm{rapid.Uint8Range(0, mostScore).Draw(t, "score"), rapid.Uint8Range(0, mostStill).Draw(t, "still"), rapid.Bool().Draw(t, "masked"), rapid.Uint32().Draw(t, "changed")}
	})
}

func sprintState(s State) string {
	c := s.Candidate
	s.Candidate = nil
	return fmt.Sprintf("%v %v", s, c)
}

func TestStateReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyState().Draw(t, "state")
		stored, err := s.MarshalBinary()
		if err != nil || len(stored) > maxState {
			t.Fatalf("%d bytes, %v", len(stored), err)
		}
		var got State
		if err := got.UnmarshalBinary(stored); err != nil {
			t.Fatal(err)
		}
		if again, _ := got.MarshalBinary(); !bytes.Equal(again, stored) || sprintState(got) != sprintState(s) {
			t.Fatalf("%s\nwant\n%s", sprintState(got), sprintState(s))
		}
	})
}

// States are stored for as long as their channels: the layout changes only with
// its version.
func TestStateGolden(t *testing.T) {
	s := State{
		Extractor: 1, Current: content.Hash{0xaa}, Face: content.Hash{0xff}, Shown: time.Unix(1, 2), Looked: time.Unix(1, 3), Recent: []content.Hash{{0xbb}}, Stood: true, Flaps: 3,
		Candidate: &Candidate{Hash: content.Hash{0xcc}, Polls: 4, Gone: []uint32{0xee}},
		Noise: Noise{
			Epoch: 5, looks: 2, chosen: 6, slots: []slot{{7, 8, rhythm{9, 1, true, 10}}},
			regions: []region{{11, 12, 13, sketch{14, 7: 15}, rhythm{16, 2, false, 17}}},
		},
	}
	const zeros, word = "000000000000000000000000000000", "0000000000000000"
	const want = "030001" + "aa" + zeros + "ff" + zeros + "000000003b9aca02" + "000000003b9aca03" + "0005" + "02" + "06" + "03" + "01" + "01010101" +
		"bb" + zeros + "cc" + zeros + "8000000000000000" + "04" + "01" + "000000ee" + "00000007" + "00000008" + "89010000000a" +
		"0000000b" + "0000000c" + "0000000d" + "000000000000000e" + word + word + word + word + word + word + "000000000000000f" + "100200000011"
	stored, err := s.MarshalBinary()
	if got := fmt.Sprintf("%x", stored); got != want || err != nil {
		t.Errorf("%s, %v\nwant\n%s", got, err, want)
	}
}

// What older versions stored is read on, without what they had learned: the judge finds
// out what face the current content has now.
func TestStateOldVersions(t *testing.T) {
	const zeros = "000000000000000000000000000000"
	const contents, candidate = "bb" + zeros, "cc" + zeros + "8000000000000000" + "04"
	for name, test := range map[string]struct {
		stored string
		epoch  uint16
	}{
		"version 1": {"010001" + "aa" + zeros + "000000003b9aca02" + "030101" + contents + candidate, 0},
		"version 2": {"020001" + "aa" + zeros + "ff" + zeros + "000000003b9aca02" + "000000003b9aca03" + "0005" + "06" + "03010101" +
			contents + candidate + "00000007" + "00000008" + "89", 5},
	} {
		stored, err := hex.DecodeString(test.stored)
		if err != nil {
			t.Fatal(err)
		}
		shown := time.Unix(1, 2).UTC()
		want := State{Extractor: 1, Current: content.Hash{0xaa}, Shown: shown, Looked: shown, Recent: []content.Hash{{0xbb}}, Noise: Noise{Epoch: test.epoch, looks: earlyLooks}}
		var got State
		if err := got.UnmarshalBinary(stored); err != nil || sprintState(got) != sprintState(want) {
			t.Errorf("%s: %s, %v\nwant\n%s", name, sprintState(got), err, sprintState(want))
		}
		for cut := 1; cut < len(stored); cut++ {
			if err := got.UnmarshalBinary(stored[:cut]); !errors.Is(err, content.ErrCorrupt) {
				t.Errorf("%s, %d bytes: %v", name, cut, err)
			}
		}
	}
}

func TestStateErrors(t *testing.T) {
	stored, err := State{Extractor: 1, Recent: make([]content.Hash, 2)}.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	tooMany := bytes.Clone(stored)
	tooMany[stateHeader-4] = maxRecent + 1
	disorder, err := State{Extractor: 1, Noise: Noise{slots: []slot{{key: 2}, {key: 2}}}}.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		data []byte
		want error
	}{
		{"nothing", nil, nil},
		{"another version", append([]byte{9}, stored[1:]...), content.ErrVersion},
		{"short", stored[:stateHeader-1], content.ErrCorrupt},
		{"cut", stored[:len(stored)-1], content.ErrCorrupt},
		{"long", append(bytes.Clone(stored), 0), content.ErrCorrupt},
		{"too many contents", tooMany, content.ErrCorrupt},
		{"slots out of order", disorder, content.ErrCorrupt},
	}
	for _, test := range tests {
		s := State{Extractor: 7}
		if err := s.UnmarshalBinary(test.data); !errors.Is(err, test.want) || s.known() && err != nil {
			t.Errorf("%s: %+v, %v; want %v", test.name, s, err, test.want)
		}
	}
}

func TestStateKeepsSixteen(t *testing.T) {
	var s State
	for n := range 40 {
		core := &content.Core{Hash: content.Hash{byte(n)}}
		s = s.move(sight{Observation: Observation{Begun: epoch, Core: core}, view: core, face: core.Hash})
	}
	if len(s.Recent) != maxRecent || s.Recent[maxRecent-1] != (content.Hash{38}) || s.Recent[0] != (content.Hash{23}) {
		t.Errorf("recent %v", s.Recent)
	}
}

func TestRemember(t *testing.T) {
	var seen []uint64
	for n := range uint64(MaxSeen + 10) {
		seen = Remember(seen, []uint64{n})
	}
	if len(seen) != MaxSeen || seen[0] != 10 || seen[MaxSeen-1] != MaxSeen+9 {
		t.Errorf("%d remembered, %d to %d", len(seen), seen[0], seen[len(seen)-1])
	}
}

// FuzzJudge: whatever is stored and shown, a decision that is stored and read as itself.
func FuzzJudge(f *testing.F) {
	stored, err := State{Extractor: 1, Recent: make([]content.Hash, 2), Candidate: &Candidate{}}.MarshalBinary()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(stored, []byte(documents.Stories(2, 1)), int64(0))
	f.Add([]byte{}, []byte("<html><p>x"), int64(1e18))
	f.Fuzz(func(t *testing.T, stored, body []byte, begun int64) {
		var s State
		core, err := extract.Content(extract.Document{Body: body})
		if s.UnmarshalBinary(stored) != nil || err != nil {
			return
		}
		d := Decide(s, nil, nil, Observation{Begun: time.Unix(0, begun), Core: core})
		again, err := d.State.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var back State
		if err := back.UnmarshalBinary(again); err != nil {
			t.Fatalf("%v of %x", err, again)
		}
		if published := d.Verdict == VerdictPublish; published != (d.State.Current == core.Hash && s.Current != core.Hash || !s.known()) && d.Verdict != VerdictRebase {
			t.Fatalf("%v from %+v to %+v", d.Verdict, s, d.State)
		}
	})
}

// The bounds of what a stored state may hold, and what is cut to them.
func TestStateBounds(t *testing.T) {
	state := func(change func(b []byte)) []byte {
		b, err := State{Extractor: 1, Recent: make([]content.Hash, 2), Noise: Noise{looks: 3, chosen: 2}, Flaps: 1}.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		change(b)
		return b
	}
	const looks, chosen, flaps, stood, recent, candidates = stateHeader - 8, stateHeader - 7, stateHeader - 6, stateHeader - 5, stateHeader - 4, stateHeader - 3
	for _, tc := range []struct {
		name string
		at   int
		to   byte
		ok   bool
	}{
		{"as written", 0, stateVersion, true}, {"more looks", looks, 200, true}, {"more chosen", chosen, 200, true}, {"more flaps", flaps, 200, true}, {"stood", stood, 7, true},
		{"a content less", recent, 1, false}, {"a content more", recent, 3, false}, {"a candidate that is not there", candidates, 1, false},
	} {
		var s State
		err := s.UnmarshalBinary(state(func(b []byte) { b[tc.at] = tc.to }))
		if (err == nil) != tc.ok || s.Noise.looks > earlyLooks || s.Noise.chosen > mostChosen || s.Flaps > maxFlaps || s.Stood != (tc.at == stood) {
			t.Errorf("%s: %v, %+v", tc.name, err, s)
		}
	}
	full := State{Extractor: 1, Recent: make([]content.Hash, maxRecent), Candidate: &Candidate{Gone: make([]uint32, maxGone)}}
	for i := range maxSlots {
		full.Noise.slots = append(full.Noise.slots, slot{key: slotKey(i)})
	}
	for i := range maxRegions {
		full.Noise.regions = append(full.Noise.regions, region{before: uint32(i)})
	}
	back := func(s State) (State, error) {
		b, err := s.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var got State
		return got, got.UnmarshalBinary(b)
	}
	if _, err := back(full); err != nil {
		t.Errorf("a full state: %v", err)
	}
	for name, s := range map[string]State{
		"contents":              {Extractor: 1, Recent: make([]content.Hash, maxRecent+1)},
		"slots":                 {Extractor: 1, Noise: Noise{slots: append(slices.Clone(full.Noise.slots), slot{key: maxSlots})}},
		"regions":               {Extractor: 1, Noise: Noise{regions: append(slices.Clone(full.Noise.regions), region{before: maxRegions})}},
		"regions twice":         {Extractor: 1, Noise: Noise{regions: make([]region, 2)}},
		"slots out of order":    {Extractor: 1, Noise: Noise{slots: []slot{{key: 2}, {key: 1}}}},
		"regions out of order":  {Extractor: 1, Noise: Noise{regions: []region{{before: 2}, {before: 1}}}},
		"regions' ends reverse": {Extractor: 1, Noise: Noise{regions: []region{{before: 1, after: 2}, {before: 1, after: 1}}}},
	} {
		if _, err := back(s); err == nil {
			t.Errorf("%s: read", name)
		}
	}
	wild := State{Extractor: 1, Noise: Noise{slots: []slot{{rhythm: rhythm{score: 100, still: 100, masked: true}}}}}
	b, err := wild.MarshalBinary()
	var got State
	if err != nil || got.UnmarshalBinary(b) != nil || got.Noise.slots[0].score != mostScore || got.Noise.slots[0].still != mostStill || !got.Noise.slots[0].masked {
		t.Errorf("%+v", got.Noise)
	}
}
