package main

import (
	"bytes"
	"path/filepath"

	"github.com/mmcdole/gofeed"

	"github.com/seed-91e7e7c1/corona/loadgen"
)

// history is a trace as a subscriber should live it.
type history struct {
	name     string
	path     string
	captures int
	feed     bool
	fresh    map[string]int // entries that the first capture has not: the capture that brings each, from 0
}

func readHistory(file string, captures int) (*history, error) {
	trace, err := loadgen.ReadTraceFile(file)
	if err != nil {
		return nil, err
	}
	name := filepath.Base(filepath.Dir(file))
	h := &history{name: name, path: "/" + name, captures: min(captures, len(trace.Captures)), fresh: make(map[string]int)}
	known := make(map[string]bool)
	for n, capture := range trace.Captures[:h.captures] {
		for _, id := range identities(capture.Body) {
			h.feed = true
			if !known[id] && n > 0 {
				h.fresh[id] = n
			}
			known[id] = true
		}
	}
	return h, nil
}

// identities names a feed's entries as readers do: the GUID, else the link. What
// is no feed has none.
func identities(body []byte) []string {
	feed, err := gofeed.NewParser().Parse(bytes.NewReader(body))
	if err != nil {
		return nil
	}
	ids := make([]string, 0, len(feed.Items))
	for _, item := range feed.Items {
		if id := item.GUID; id != "" {
			ids = append(ids, id)
		} else {
			ids = append(ids, item.Link)
		}
	}
	return ids
}
