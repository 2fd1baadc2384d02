package server

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"net/http"
	"path"
	"strconv"
)

// pageFiles is the web page: no framework, nothing from the network.
//
//go:embed page
var pageFiles embed.FS

// pagePolicy lets the page load only its own files and talk only to its node. It
// has no inline code: what a feed says cannot become any.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// asset is a file of the page, in memory as it is in the program.
type asset struct {
	content     []byte
	contentType string
	etag        string
}

// contentTypes of the page's files, by the ending of the name.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// pageAssets returns what is served, by pattern: every file under its name, the
// page itself and the icon also where browsers look for them.
func pageAssets() map[string]*asset {
	assets := make(map[string]*asset)
	files, err := pageFiles.ReadDir("page")
	if err != nil {
		panic(err) // a program built without its files
	}
	for _, file := range files {
		assets["/page/"+file.Name()] = newAsset("page/" + file.Name())
	}
	assets["/{$}"] = newAsset("page/index.html")
	assets["/favicon.ico"] = newAsset("page/icon.svg")
	return assets
}

func newAsset(name string) *asset {
	content, err := pageFiles.ReadFile(name)
	if err != nil {
		panic(err) // a program built without its files
	}
	sum := sha256.Sum256(content)
	return &asset{content, contentTypes[path.Ext(name)], `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`}
}

// ServeHTTP answers with the file, or 304 when the browser has it.
func (a *asset) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", pagePolicy)
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cache-Control", "no-cache")
	header.Set("ETag", a.etag)
	if r.Header.Get("If-None-Match") == a.etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	header.Set("Content-Type", a.contentType)
	header.Set("Content-Length", strconv.Itoa(len(a.content)))
	_, _ = w.Write(a.content) // a client that is gone needs no answer
}
