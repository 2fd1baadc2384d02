package corona_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona"
	"github.com/seed-91e7e7c1/corona/api"
)

// serveGrowing serves feeds that get an item each second.
func serveGrowing(t *testing.T) (host string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/rss+xml")
		fmt.Fprintf(w, `<?xml version="1.0"?><rss version="2.0"><channel><title>%s</title>`, r.URL.Path)
		for i := range 1 + int(time.Since(began).Seconds()) {
			fmt.Fprintf(w, "<item><guid>entry-%d</guid><title>Entry %d</title><link>http://example.com/%d</link></item>", i, i, i)
		}
		fmt.Fprint(w, "</channel></rss>")
	})}
	go func() { _ = server.Serve(listener) }() // it returns when it is closed
	t.Cleanup(func() { _ = server.Close() })
	return listener.Addr().String()
}

// TestSplitCluster: nodes that split their ranges go on polling all channels, and streams open
// meanwhile get each update once.
func TestSplitCluster(t *testing.T) {
	const channels, ranges = 24, 12
	nodes := openThree(t, time.Millisecond)
	host := serveGrowing(t)
	var urls []string
	for i := range channels {
		urls = append(urls, fmt.Sprintf("http://%s/%d", host, i))
	}
	subscribeAll(t, nodes[0], api.Sink{Type: "sse"}, urls...)
	awaitPollers(t, nodes[0], len(nodes), channels)
	ctx, stop := context.WithCancel(t.Context())
	var reading sync.WaitGroup
	got := make([]*streamed, len(nodes))
	for i, n := range nodes {
		got[i] = &streamed{newest: make(map[string]uint64)}
		stream, err := n.Stream(ctx, api.StreamFilter{}, "")
		if err != nil {
			t.Fatal(err)
		}
		reading.Go(func() {
			defer stream.Close()
			got[i].readAll(ctx, t, stream)
		})
	}
	if err := nodes[1].SplitRanges(ctx, ranges); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the ranges", rigPatience, func() bool {
		all, err := nodes[2].Nodes(ctx)
		return err == nil && all.Ranges == ranges
	})
	split := versions(t, nodes[0])
	eventually(t, "updates of all channels after that", rigPatience, func() bool {
		grown := 0
		for url, version := range versions(t, nodes[0]) {
			if version >= split[url]+3 {
				grown++
			}
		}
		return grown == channels
	})
	last := versions(t, nodes[0])
	for i, n := range nodes {
		eventually(t, "all updates in the stream of "+n.Name(), rigPatience, func() bool { return got[i].has(last) })
	}
	stop()
	reading.Wait()
}

// versions returns the versions of all channels.
func versions(t *testing.T, n *corona.Node) map[string]uint64 {
	t.Helper()
	all := make(map[string]uint64)
	listed, err := n.Channels(t.Context(), nil, 1000)
	if err != nil {
		t.Logf("list: %v", err)
	}
	for _, c := range listed {
		all[c.URL] = c.Version
	}
	return all
}

// streamed is what a stream has brought: the newest version of each channel.
type streamed struct {
	mu     sync.Mutex
	newest map[string]uint64
}

// has reports whether the stream has brought versions.
func (s *streamed) has(versions map[string]uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for url, version := range versions {
		if s.newest[url] < version {
			return false
		}
	}
	return true
}

// readAll reads a stream to its end, and wants the versions of each channel in order without
// a gap.
func (s *streamed) readAll(ctx context.Context, t *testing.T, stream api.EventStream) {
	for {
		e, err := stream.Next(ctx)
		if err != nil {
			return
		}
		var update struct {
			URL     string `json:"url"`
			Version uint64 `json:"version"`
		}
		if e.Type != "update" {
			t.Errorf("event %s: %s", e.Type, e.Data)
			continue
		}
		if err := json.Unmarshal(e.Data, &update); err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		if before := s.newest[update.URL]; before > 0 && update.Version != before+1 {
			t.Errorf("version %d of %s behind version %d", update.Version, update.URL, before)
		}
		s.newest[update.URL] = update.Version
		s.mu.Unlock()
	}
}
