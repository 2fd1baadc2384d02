package run

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/seed-91e7e7c1/corona/loadgen/result"
	"github.com/seed-91e7e7c1/corona/loadgen/scrape"
)

const (
	pageLimit  = 1000 // items of a page: the most that a node gives
	heapEvery  = 20   // pages between two looks at the node's heap
	repetition = 50   // of each single request
)

// requests are what people and monitoring ask for.
var requests = []string{"/v1/status", "/metrics", "/", "/v1/channels?limit=25", "/v1/subscriptions?limit=25", "/readyz"}

// probeLists walks through the lists of all channels and subscriptions at a node, and times
// single requests, one after the other.
func probeLists(ctx context.Context, n *node, channels, subscriptions int) (_ *result.Lists, err error) {
	l := &result.Lists{Requests: make(map[string]result.One)}
	if l.Channels, err = walk(ctx, n, "/v1/channels", channels); err != nil {
		return nil, err
	}
	if l.Subscriptions, err = walk(ctx, n, "/v1/subscriptions", subscriptions); err != nil {
		return nil, err
	}
	for _, path := range requests {
		times, size := make([]time.Duration, repetition), 0
		for i := range times {
			begun := time.Now()
			content, err := get(ctx, n.url+path)
			if err != nil {
				return nil, err
			}
			times[i], size = time.Since(begun), len(content)
		}
		l.Requests[path] = result.One{P50: median(times), Max: milliseconds(slices.Max(times)), Bytes: size}
	}
	return l, nil
}

// walk goes through a list page by page; want is how many items it is to have.
func walk(ctx context.Context, n *node, path string, want int) (l result.List, err error) {
	heap, err := heapOf(ctx, n)
	if err != nil {
		return l, err
	}
	before, size := n.sample().processor, 0
	seen := make(map[string]bool, want)
	var pages []time.Duration
	for after, first := "", true; first || after != ""; first = false {
		begun := time.Now()
		page, length, err := readPage(ctx, n.url+path, after)
		if err != nil {
			return l, err
		}
		pages = append(pages, time.Since(begun))
		items := slices.Concat(page.Channels, page.Subscriptions)
		for _, one := range items {
			seen[one.ID] = true
		}
		l.Items, size, after = l.Items+len(items), size+length, page.Next
		if len(pages)%heapEvery == 0 {
			now, err := heapOf(ctx, n)
			if err != nil {
				return l, err
			}
			l.HeapGrown = max(l.HeapGrown, now-heap)
		}
	}
	l.CPUUs = 1e6 * (n.sample().processor - before).Seconds() / float64(max(l.Items, 1))
	l.Wrong = l.Items - len(seen) + max(want-len(seen), 0)
	for _, page := range pages {
		l.Seconds += page.Seconds()
	}
	l.PerS, l.PageBytes = float64(l.Items)/l.Seconds, float64(size)/float64(len(pages))
	tenth := max(len(pages)/10, 1)
	l.FirstTenth, l.LastTenth = median(pages[:tenth]), median(pages[len(pages)-tenth:])
	return l, nil
}

// item is what a walk looks at of channels and subscriptions.
type item struct {
	ID string `json:"id"`
}

// page is a page of one of both lists.
type page struct {
	Channels      []item `json:"channels"`
	Subscriptions []item `json:"subscriptions"`
	Next          string `json:"next"`
}

func readPage(ctx context.Context, list, after string) (p page, size int, err error) {
	query := url.Values{"limit": {fmt.Sprint(pageLimit)}}
	if after != "" {
		query.Set("after", after)
	}
	content, err := get(ctx, list+"?"+query.Encode())
	if err == nil {
		err = json.Unmarshal(content, &p)
	}
	return p, len(content), err
}

func heapOf(ctx context.Context, n *node) (int64, error) {
	metrics, err := scrape.Read(ctx, n.url)
	return int64(metrics.Sum("go_memstats_heap_inuse_bytes")), err
}

func get(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
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
		err = fmt.Errorf("GET %s: %s: %s", url, response.Status, content)
	}
	return content, err
}

func median(times []time.Duration) float64 {
	sorted := slices.Sorted(slices.Values(times))
	return milliseconds(sorted[len(sorted)/2])
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
