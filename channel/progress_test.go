package channel

import "testing"

func TestDelivered(t *testing.T) {
	p := Progress{Version: 7, Seq: 10, Stragglers: []Straggler{{Seq: 4, Next: 3}, {Seq: 12, Next: 9}}}
	gone := Progress{Version: 7, Seq: 10 | Told}
	for _, test := range []struct {
		name string
		p    Progress
		sub  Subscription
		want uint64
	}{
		{"offered", p, Subscription{Seq: 10, FromVersion: 2}, 7},
		{"not yet offered", p, Subscription{Seq: 11, FromVersion: 2}, 6},
		{"straggler", p, Subscription{Seq: 4, FromVersion: 2}, 2},
		{"straggler before its first", p, Subscription{Seq: 4, FromVersion: 3}, 0},
		{"ahead after a gap", p, Subscription{Seq: 12, FromVersion: 2}, 8},
		{"new", p, Subscription{Seq: 13, FromVersion: 8}, 0},
		{"gone", gone, Subscription{Seq: 11, FromVersion: 2}, 7},
		{"first version not yet offered", Progress{Version: 1, Seq: 10}, Subscription{Seq: 11, FromVersion: 1}, 0},
		{"nothing delivered ever", Progress{}, Subscription{Seq: 1, FromVersion: 2}, 0},
	} {
		if got := test.p.Delivered(test.sub); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}
