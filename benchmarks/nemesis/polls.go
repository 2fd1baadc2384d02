//go:build linux

package main

import "net/http"

const still = `<?xml version="1.0"?>
<rss version="2.0"><channel><title>Still</title><item><title>The only one</title><guid isPermaLink="false">one</guid></item></channel></rss>
`

// serveStill serves channels that never change, whatever their paths.
func serveStill(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/rss+xml")
	w.Header().Set("ETag", `"still"`)
	if r.Header.Get("If-None-Match") == `"still"` {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write([]byte(still)) // a killed node does not read on
}
