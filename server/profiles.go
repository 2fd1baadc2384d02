package server

import (
	"fmt"
	"html/template"
	"net/http"
	"net/http/pprof"
	"net/url"
	"runtime"
	runtimeprofile "runtime/pprof"
	"strconv"
	"sync"

	"github.com/seed-91e7e7c1/corona/api"
)

// A profile is an entry of the list at /debug/pprof/.
type profile struct {
	Name  string
	Query string // that its link has
	Text  string
}

// profiles are those that this node has: net/http/pprof's without the command line,
// on which a token may stand.
var profiles = []profile{
	{"allocs", "?debug=1", "where memory was allocated since the start"},
	{"block", "?seconds=5", "where goroutines wait for each other, over the next seconds"},
	{"goroutine", "?debug=1", "all goroutines, by what they do; ?debug=2 lists each"},
	{"heap", "?debug=1", "where the memory in use was allocated"},
	{"mutex", "?seconds=5", "which holders of locks others wait for, over the next seconds"},
	{"profile", "?seconds=10", "where the processor's time goes, over the next seconds"},
	{"symbol", "", "names of program counters; for go tool pprof"},
	{"threadcreate", "?debug=1", "where threads of the operating system were started"},
	{"trace", "?seconds=5", "what the scheduler does over the next seconds; for go tool trace"},
}

var profilesPage = template.Must(template.New("profiles").Parse(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Profiles</title>
<h1>Profiles</h1>
<p>For <code>go tool pprof</code>; with <code>?debug=1</code> as text.</p>
<dl>
{{range .}}<dt><a href="{{.Name}}{{.Query}}">{{.Name}}</a></dt><dd>{{.Text}}</dd>
{{end}}</dl>
</html>
`))

// listProfiles answers GET /debug/pprof/.
func (s *Server) listProfiles(w http.ResponseWriter, _ *http.Request) error {
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", pagePolicy)
	header.Set("Cache-Control", "no-store")
	_ = profilesPage.Execute(w, profiles) // a client that is gone needs no answer
	return nil
}

// profile answers GET /debug/pprof/{name}.
func (s *Server) profile(w http.ResponseWriter, r *http.Request) error {
	switch name := r.PathValue("name"); name {
	case "profile":
		pprof.Profile(w, r)
	case "symbol":
		pprof.Symbol(w, r)
	case "trace":
		pprof.Trace(w, r)
	case "block", "mutex":
		return contentionProfile(w, r, name)
	default:
		if runtimeprofile.Lookup(name) == nil {
			return api.NewProblem(http.StatusNotFound, "no profile "+clip(name))
		}
		pprof.Handler(name).ServeHTTP(w, r)
	}
	return nil
}

// The runtime notes no contention until it is told to, since that costs time at each
// wait of a goroutine. So it is told to for as long as a profile is taken.
const (
	contentionSeconds = 5 // unless the request says how many
	maxContention     = 300
	blockRate         = 10_000 // nanoseconds of waiting for each that is noted, on average
	mutexFraction     = 10     // of so many contentions one is noted
)

// contention is process-wide, as are the rates that it guards: two profiles at a
// time would end each other's.
var contention sync.Mutex

// contentionProfile answers with what is noted in the seconds from now on.
func contentionProfile(w http.ResponseWriter, r *http.Request, name string) error {
	query := r.URL.Query()
	if !query.Has("seconds") {
		query.Set("seconds", strconv.Itoa(contentionSeconds))
	}
	if n, err := strconv.Atoi(query.Get("seconds")); err != nil || n < 1 || n > maxContention {
		return api.BadField("seconds", fmt.Sprintf("want a number of seconds from 1 to %d", maxContention))
	}
	if query.Has("debug") {
		return api.BadField("debug", "this profile is for go tool pprof alone")
	}
	if !contention.TryLock() {
		return api.NewProblem(http.StatusServiceUnavailable, "a block or mutex profile is being taken")
	}
	defer contention.Unlock()
	defer noteContention(name)()
	over := r.Clone(r.Context())
	over.URL = &url.URL{Path: r.URL.Path, RawQuery: query.Encode()}
	pprof.Handler(name).ServeHTTP(w, over)
	return nil
}

// noteContention has the runtime note what a profile shows, until it is called off.
func noteContention(name string) (off func()) {
	if name == "block" {
		runtime.SetBlockProfileRate(blockRate)
		return func() { runtime.SetBlockProfileRate(0) }
	}
	before := runtime.SetMutexProfileFraction(mutexFraction)
	return func() { runtime.SetMutexProfileFraction(before) }
}
