package server

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"net/http"
	"path"
	"strconv"

	"github.com/seed-91e7e7c1/corona/api"
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

// page returns the handlers of the page and its files, by pattern: one for all
// files, so that metrics count them as one.
func (s *Server) page() map[string]http.Handler {
	files, err := pageFiles.ReadDir("page")
	if err != nil {
		panic(err) // a program built without its files
	}
	assets := make(map[string]*asset, len(files))
	for _, file := range files {
		assets[file.Name()] = newAsset("page/" + file.Name())
	}
	return map[string]http.Handler{
		"GET /{$}":         assets["index.html"],
		"GET /favicon.ico": assets["icon.svg"],
		"GET /page/{file}": s.answer(func(w http.ResponseWriter, r *http.Request) error {
			file, ok := assets[r.PathValue("file")]
			if !ok {
				return api.NewProblem(http.StatusNotFound, "the page has no such file")
			}
			file.ServeHTTP(w, r)
			return nil
		}),
	}
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
