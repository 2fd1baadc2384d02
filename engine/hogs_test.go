package engine

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-91e7e7c1/corona/fetcher"
)

// site serves one host on connections in memory.
type site struct {
	size  int  // bytes of its page
	stall bool // it sends 6 MB of it, and no more
	chunk bool // it does not say how long the page is

	mu      sync.Mutex
	version int
	at      []time.Time // when each version came up
	polls   int
	sent    int64
	whole   int64 // bytes of pages that were sent to their end
}

const hogSends = 6 << 20

func (s *site) change() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	s.at = append(s.at, time.Now())
}

// serve answers each request on a connection.
func (s *site) serve(c net.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.polls++
		etag := fmt.Sprintf(`"%d"`, s.version)
		page := fmt.Sprintf("<html><body><p>This is what version %d of the page says.</p></body></html><!--", s.version)
		s.mu.Unlock()
		if req.Header.Get("If-None-Match") == etag {
			fmt.Fprintf(c, "HTTP/1.1 304 Not Modified\r\nETag: %s\r\n\r\n", etag)
			continue
		}
		page += strings.Repeat("x", s.size-len(page)-3) + "-->"
		head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nETag: %s\r\nContent-Length: %d\r\n\r\n", etag, len(page))
		tail := ""
		if s.chunk {
			head = fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nETag: %s\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n", etag, len(page))
			tail = "\r\n0\r\n\r\n"
		}
		if s.stall {
			page, tail = page[:hogSends], ""
		}
		n, err := c.Write([]byte(head + page + tail))
		s.mu.Lock()
		s.sent += int64(n)
		if err == nil {
			s.whole += int64(n)
		}
		s.mu.Unlock()
		if err != nil {
			return
		}
		if s.stall {
			_, _ = in.ReadByte() // until the poller gives up
			return
		}
	}
}

type sites map[string]*site

func (s sites) dial(_ context.Context, _, address string) (net.Conn, error) {
	host, _, _ := strings.Cut(address, ":")
	ours, theirs := net.Pipe()
	go s[host].serve(theirs)
	return ours, nil
}

// TestHogsStarveNobody has eight hosts that send 6 MB and stall, beside feeds of 1, 5
// and 7 MB that change each five minutes and are polled each minute: each change arrives
// within two planned gaps, no channel is asked more often than planned, and all that is
// sent is at most a fifth more than the changes and what the eight send alone.
func TestHogsStarveNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const gap, changes, between = time.Minute, 4, 5
		w := newWorld(t, Config{Interval: gap, Floor: 5 * time.Second})
		defer w.close()
		all := sites{}
		for i := range 8 {
			all[fmt.Sprintf("hog%d.example", i)] = &site{size: 7 << 20, stall: true, chunk: i%2 == 1}
		}
		var honest []string
		for i, size := range []int{1, 5, 7} {
			for _, chunk := range []bool{false, true} {
				host := fmt.Sprintf("feed%d-%t.example", i, chunk)
				all[host] = &site{size: size << 20, chunk: chunk}
				honest = append(honest, host)
			}
		}
		f, err := fetcher.New(fetcher.Config{Dial: all.dial}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		w.engine.asker.fetcher = f

		var mu sync.Mutex
		told := map[string][]time.Time{}
		w.owner = func(r Report) (Answer, error) {
			mu.Lock()
			defer mu.Unlock()
			for _, host := range honest {
				if o := orderURL("http://" + host + "/page"); o.Channel == r.Channel {
					told[host] = append(told[host], time.Now())
				}
			}
			return Answer{Version: r.BaseVersion + 1, Hash: r.Core.Hash}, nil
		}
		for host := range all {
			all[host].change()
			w.engine.Order(orderURL("http://" + host + "/page"))
		}
		w.pass(between * gap)
		for range changes {
			for _, host := range honest {
				all[host].change()
			}
			w.pass(between * gap)
		}

		var needed, sent int64
		for host, s := range all {
			s.mu.Lock()
			t.Logf("%s: %d polls, %.1f MB", host, s.polls, float64(s.sent)/1e6)
			sent += s.sent
			if most := (changes+1)*between + 1; s.polls > most {
				t.Errorf("%s: %d polls, where %d are planned", host, s.polls, most)
			}
			if s.stall {
				needed += 5 * hogSends // as often as it is asked alone, with its failures' back-off
			} else {
				needed += (changes + 1) * int64(s.size)
			}
			s.mu.Unlock()
		}
		for _, host := range honest {
			if len(told[host]) != changes+1 {
				t.Errorf("%s: %d of %d changes arrived", host, len(told[host]), changes+1)
				continue
			}
			for i, at := range told[host] {
				if late := at.Sub(all[host].at[i]); late > 2*gap {
					t.Errorf("%s: change %d arrived after %s", host, i, late)
				}
			}
		}
		t.Logf("%.1f MB sent, %.1f needed", float64(sent)/1e6, float64(needed)/1e6)
		if 10*sent > 12*needed {
			t.Errorf("%d bytes sent, where %d are needed", sent, needed)
		}
	})
}
