//go:build linux

package main

import (
	"net/http"
	"strings"
)

// stillPath is where the origin's channels are that never change.
const stillPath = "/still/"

const still = `<?xml version="1.0"?>
<rss version="2.0"><channel><title>Still</title><item><title>The only one</title><guid isPermaLink="false">one</guid></item></channel></rss>
`

// withStill serves the channels that never change beside an origin.
func withStill(origin http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, stillPath) {
			origin.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/rss+xml")
		w.Header().Set("ETag", `"still"`)
		if r.Header.Get("If-None-Match") == `"still"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write([]byte(still)) // a killed node does not read on
	})
}
