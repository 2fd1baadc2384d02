package server

import (
	"encoding/binary"
	"net/http"
	"net/netip"
	"testing"
	"time"
)

// Row 39: guessers from any number of addresses take a bounded memory.
func TestRow39SourcesAreBounded(t *testing.T) {
	g := newGuessers()
	now := time.Unix(1_700_000_000, 0)
	for i := range uint32(100_000) {
		var ip [4]byte
		binary.BigEndian.PutUint32(ip[:], i)
		from := netip.AddrFrom4(ip)
		if i%2 == 0 {
			g.right(from, now)
		} else {
			g.wrong(from, now)
		}
	}
	if got := len(g.mu.sources); got != maxSources {
		t.Errorf("%d sources are remembered, want %d", got, maxSources)
	}
}

// The log tells of a guesser once, however long he goes on.
func TestGuesserIsToldOnce(t *testing.T) {
	g := newGuessers()
	from := netip.MustParseAddr("192.0.2.7")
	now := time.Unix(1_700_000_000, 0)
	told := 0
	for range 1000 {
		if _, tell := g.wrong(from, now); tell {
			told++
		}
		now = now.Add(guessPrice)
	}
	for range 1000 {
		if _, tell := g.wrong(from, now); tell {
			told++
		}
	}
	if told != 1 {
		t.Errorf("told %d times", told)
	}
}

func TestSourceOf(t *testing.T) {
	tests := []struct {
		remote, from string
		shared       bool
	}{
		{"192.0.2.7:1", "192.0.2.7", false},
		{"[::ffff:192.0.2.7]:1", "192.0.2.7", false},
		{"[2001:db8:1:2:3:4:5:6]:1", "2001:db8:1:2::", false},
		{"[fe80::1%eth0]:1", "fe80::", false},
		{"127.0.0.9:1", "127.0.0.9", true},
		{"[::1]:1", "::1", true},
		{"pipe", "invalid IP", true},
		{"", "invalid IP", true},
	}
	for _, test := range tests {
		from, shared := sourceOf(&http.Request{RemoteAddr: test.remote})
		if from.String() != test.from || shared != test.shared {
			t.Errorf("%q: %s, shared %v", test.remote, from, shared)
		}
	}
}
