package position

import (
	"testing"

	"github.com/seed-91e7e7c1/corona/channel"
)

func TestStep(t *testing.T) {
	for _, test := range []struct {
		step          Step
		version, next uint64
		gone          bool
	}{
		{VersionStep(2), 2, 2, false},
		{GoneStep(2), 2, 3, true},
		{VersionStep(3), 3, 3, false},
		{FirstStep(3), 2, 3, true}, // that the channel is gone before version 3 is news
		{GoneStep(7), 7, 8, true},
	} {
		if s := test.step; s.Version() != test.version || s.Gone() != test.gone || s.NextVersion() != test.next {
			t.Errorf("step %d: version %d, gone %v, next %d; want %+v", s, s.Version(), s.Gone(), s.NextVersion(), test)
		}
	}
}

func TestWithin(t *testing.T) {
	for _, test := range []struct{ step, head, want Step }{
		{VersionStep(2), VersionStep(2), VersionStep(2)},
		{VersionStep(2), GoneStep(2), VersionStep(2)},
		{GoneStep(2), GoneStep(2), GoneStep(2)},       // it is gone
		{GoneStep(2), VersionStep(2), VersionStep(3)}, // it is not
		{GoneStep(2), VersionStep(3), VersionStep(3)}, // it came back
		{GoneStep(2), GoneStep(3), VersionStep(3)},    // and is gone again
		{VersionStep(3), VersionStep(2), VersionStep(3)},
	} {
		if got := test.step.Within(test.head); got != test.want {
			t.Errorf("%s within %s is %s, want %s", name(test.step), name(test.head), name(got), name(test.want))
		}
	}
}

func TestHead(t *testing.T) {
	for _, test := range []struct {
		version uint64
		gone    bool
		want    Step
	}{
		{0, false, VersionStep(1)}, {0, true, GoneStep(1)}, {1, false, VersionStep(1)}, {1, true, GoneStep(1)},
		{2, false, VersionStep(2)}, {5, true, GoneStep(5)},
	} {
		if got := Head(channel.Channel{Version: test.version, Gone: test.gone}); got != test.want {
			t.Errorf("version %d, gone %v: %s, want %s", test.version, test.gone, name(got), name(test.want))
		}
	}
}

func TestCursorAsStored(t *testing.T) {
	for _, test := range []struct {
		cursor       cursor
		version, seq uint64
	}{
		{cursor{VersionStep(1), 0}, 1, 0},
		{cursor{VersionStep(3), 7}, 3, 7},
		{cursor{VersionStep(3), lastSeq}, 3, 1<<63 - 1},
		{cursor{GoneStep(3), 0}, 3, 1 << 63},
		{cursor{GoneStep(3), 7}, 3, 1<<63 | 7},
	} {
		version, seq := test.cursor.stored()
		if version != test.version || seq != test.seq {
			t.Errorf("%s is stored as %d, %x; want %d, %x", place(test.cursor), version, seq, test.version, test.seq)
		}
		if back := cursorOf(channel.Progress{Version: version, Seq: seq}); back != test.cursor {
			t.Errorf("%s came back as %s", place(test.cursor), place(back))
		}
	}
}
