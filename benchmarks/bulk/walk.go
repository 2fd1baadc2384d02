//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/process"
)

const (
	pageLimit  = 1000 // items of a page: the most that a node gives
	heapEvery  = 20   // pages between two looks at the node's heap
	repetition = 50   // of each single request
)

// walkResult is what a walk through all items of a list took. Pages cost the same
// wherever they are if the last tenth's is the first tenth's.
type walkResult struct {
	Items          int     `json:"items"`
	Bytes          int64   `json:"bytes"`
	Seconds        float64 `json:"seconds"`
	ItemsPerS      float64 `json:"items_per_s"`
	NodeUs         float64 `json:"node_us_per_item"`
	FirstTenthMs   float64 `json:"first_tenth_page_ms"` // median
	LastTenthMs    float64 `json:"last_tenth_page_ms"`
	HeapGrownBytes float64 `json:"node_heap_grown_bytes"` // in use, at most, over the beginning
}

// walk goes through a list page by page, and checks that nothing comes twice.
func (s *scenario) walk(ctx context.Context, path string) (r walkResult, err error) {
	heapBefore, err := s.heap(ctx)
	if err != nil {
		return r, err
	}
	cpuBefore, err := process.CPUTime(s.node.PID())
	if err != nil {
		return r, err
	}
	seen := make(map[string]bool, s.channels)
	var pages []time.Duration
	for after, first := "", true; first || after != ""; first = false {
		begun := time.Now()
		ids, next, size, err := s.page(ctx, path, after)
		if err != nil {
			return r, err
		}
		pages = append(pages, time.Since(begun))
		for _, id := range ids {
			seen[id] = true
		}
		r.Items, r.Bytes, after = r.Items+len(ids), r.Bytes+size, next
		if len(pages)%heapEvery == 0 {
			heap, err := s.heap(ctx)
			if err != nil {
				return r, err
			}
			r.HeapGrownBytes = max(r.HeapGrownBytes, heap-heapBefore)
		}
	}
	if r.Items != len(seen) || r.Items != s.channels {
		return r, fmt.Errorf("%s: %d items, %d of them different, want %d", path, r.Items, len(seen), s.channels)
	}
	cpuAfter, err := process.CPUTime(s.node.PID())
	if err != nil {
		return r, err
	}
	r.NodeUs = s.perChannel(cpuAfter - cpuBefore)
	for _, page := range pages {
		r.Seconds += page.Seconds()
	}
	r.ItemsPerS = float64(r.Items) / r.Seconds
	tenth := max(len(pages)/10, 1)
	r.FirstTenthMs, r.LastTenthMs = median(pages[:tenth]), median(pages[len(pages)-tenth:])
	return r, nil
}

// page reads one page of a list.
func (s *scenario) page(ctx context.Context, path, after string) (ids []string, next string, size int64, err error) {
	query := url.Values{"limit": {fmt.Sprint(pageLimit)}}
	if after != "" {
		query.Set("after", after)
	}
	content, err := s.get(ctx, path+"?"+query.Encode())
	if err != nil {
		return nil, "", 0, err
	}
	type item struct {
		ID string `json:"id"`
	}
	var page struct {
		Channels      []item `json:"channels"`
		Subscriptions []item `json:"subscriptions"`
		Next          string `json:"next"`
	}
	if err := json.Unmarshal(content, &page); err != nil {
		return nil, "", 0, fmt.Errorf("GET %s: %w", path, err)
	}
	for _, one := range slices.Concat(page.Channels, page.Subscriptions) {
		ids = append(ids, one.ID)
	}
	return ids, page.Next, int64(len(content)), nil
}

// timesResult is how long one request took, over many.
type timesResult struct {
	MedianMs float64 `json:"median_ms"`
	MostMs   float64 `json:"most_ms"`
	Bytes    int     `json:"bytes"`
}

// requests times what people and monitoring ask for, one after the other.
func (s *scenario) requests(ctx context.Context) (map[string]timesResult, error) {
	all := make(map[string]timesResult)
	for _, path := range []string{"/v1/status", "/metrics", "/", "/v1/channels?limit=25", "/v1/subscriptions?limit=25", "/readyz"} {
		var times []time.Duration
		var r timesResult
		for range repetition {
			begun := time.Now()
			content, err := s.get(ctx, path)
			if err != nil {
				return nil, err
			}
			times = append(times, time.Since(begun))
			r.Bytes = len(content)
		}
		r.MedianMs, r.MostMs = median(times), milliseconds(slices.Max(times))
		all[path] = r
	}
	return all, nil
}

func (s *scenario) get(ctx context.Context, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s: %s", path, response.Status, content)
	}
	return content, err
}

func median(times []time.Duration) float64 {
	sorted := slices.Sorted(slices.Values(times))
	return milliseconds(sorted[len(sorted)/2])
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// maxResident returns the most memory that a process has had, in bytes.
func maxResident(state *os.ProcessState) int64 {
	if used, ok := state.SysUsage().(*syscall.Rusage); ok {
		return used.Maxrss << 10 // Linux: in KiB
	}
	return 0
}
