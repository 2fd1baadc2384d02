package channel

import "testing"

func TestCursorOrder(t *testing.T) {
	ordered := []Cursor{{}, {Bucket: 1}, EndOf(0), {Stamp: 1}, {Stamp: 1, Bucket: 7}, EndOf(1), {Stamp: 2}}
	for i, c := range ordered {
		for j, other := range ordered {
			if got, want := c.Less(other), i < j; got != want {
				t.Errorf("%+v before %+v: %v", c, other, got)
			}
		}
	}
}

func TestCursorBefore(t *testing.T) {
	for _, test := range []struct{ c, want Cursor }{
		{Cursor{Stamp: 5, Bucket: 7}, Cursor{Stamp: 5, Bucket: 6}},
		{Cursor{Stamp: 5, Bucket: 1}, Cursor{Stamp: 5}},
		{Cursor{Stamp: 5}, EndOf(4)},
	} {
		if got := test.c.Before(); got != test.want || !got.Less(test.c) {
			t.Errorf("before %+v: %+v, want %+v", test.c, got, test.want)
		}
	}
}

func TestUpdateCursor(t *testing.T) {
	u := Update{Channel: ID{0xAB, 0xCD}, Stamp: 9}
	if got, want := u.Cursor(), (Cursor{Stamp: 9, Bucket: 0xABC}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
