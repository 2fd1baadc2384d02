package corona_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/seed-91e7e7c1/corona"

// A rule says which packages of this module a folder may import, and why no
// others. "internal" stands for every package below it.
type rule struct {
	may []string
	why string
}

// rules is docs/architecture.md's table of arrows. The root package, the facade, is
// "".
var rules = map[string]rule{
	"channel":    {nil, "the nouns that all share must not know who uses them"},
	"honeycomb":  {nil, "the solver is pure: numbers in, numbers out"},
	"deltas":     {[]string{"channel"}, "the difference engine is pure: documents in, differences out"},
	"fetcher":    {[]string{"channel", "internal"}, "one polite request knows nothing of schedules or state"},
	"overlay":    {[]string{"channel"}, "who polls when is pure arithmetic"},
	"ownership":  {[]string{"channel", "overlay", "internal"}, "replicated state carries documents without reading them"},
	"engine":     {[]string{"channel", "deltas", "fetcher", "overlay", "internal"}, "a poller reports to an owner through the interface that it declares"},
	"primary":    {[]string{"channel", "deltas", "overlay", "engine", "ownership", "honeycomb", "internal"}, "the owner's decisions know nothing of delivery or HTTP"},
	"wedge":      {[]string{"channel", "deltas", "overlay", "engine", "internal"}, "what owners and pollers say to each other decides neither rates nor contents"},
	"api":        {[]string{"channel", "deltas"}, "the contract's types must be usable by clients that hold no node"},
	"notify":     {[]string{"channel", "deltas", "api", "internal"}, "delivery reads committed state through the interface that it declares"},
	"server":     {[]string{"channel", "deltas", "api", "internal"}, "HTTP sees a node only through the interface that it declares"},
	"loadgen":    {[]string{"channel", "deltas", "honeycomb", "api", "internal"}, "a black box: a load generator that shares the engine's code shares its mistakes"},
	"internal":   {[]string{"channel", "internal"}, "small things that several need"},
	"":           {[]string{"channel", "deltas", "fetcher", "overlay", "ownership", "engine", "primary", "notify", "api", "honeycomb", "wedge", "internal"}, "the facade wires a node; HTTP and the command line wrap it"},
	"cmd":        {[]string{"*"}, ""},
	"benchmarks": {[]string{"*"}, ""},
}

// impure are the standard packages of goroutines, locks and I/O.
var impure = []string{"sync", "sync/atomic", "context", "os", "io/fs", "net", "net/http", "log/slog"}

// exclusive names the one folder whose code may import a third-party engine, so
// that its types leak nowhere. Benchmarks may compare with anything.
var exclusive = map[string][]string{
	"github.com/hashicorp/raft":         {"ownership"},
	"github.com/hashicorp/raft-boltdb":  {"ownership"},
	"go.etcd.io/bbolt":                  {"ownership"},
	"github.com/cockroachdb/pebble":     {"ownership", "engine", "internal"}, // internal/volume: its files
	"github.com/valyala/fasthttp":       {"fetcher", "loadgen"},
	"github.com/mmcdole/gofeed":         {"deltas", "loadgen"}, // loadgen/entries, as an oracle of deltas
	"github.com/hashicorp/memberlist":   {"internal"},          // internal/members
	"github.com/anishathalye/porcupine": {"internal"},          // internal/testcluster/history
	"github.com/spf13/cobra":            {"cmd"},
	"github.com/google/pprof":           {"cmd", "loadgen"}, // loadgen/profiles
	"github.com/standard-webhooks":      {"notify"},
	"code.dny.dev/ssrf":                 {"internal"},
}

// pureModules may be imported by pure rooms: values in, values out.
var pureModules = []string{"github.com/cespare/xxhash/v2", "golang.org/x/net/html"}

// A room is a package inside a folder whose arrows are its own. What it may import
// stands for every package below it. Pure rooms import of others only the standard
// library, and nothing that is impure, and [pureModules].
type room struct {
	may  []string
	pure bool
	why  string
}

const nodeCommand = "a command talks to a node through the API's client and prints what it answers"

// rooms holds the arrows inside folders; tests may import more. A package that is
// not listed has its folder's rule alone.
var rooms = map[string]room{
	"deltas/scan":                  {nil, true, "bytes, escapes and references are the ground of all readers"},
	"deltas/extract/lines":         {[]string{"deltas/scan"}, true, "lines are made of text alone"},
	"deltas/extract/links":         {[]string{"deltas/scan", "deltas/extract/lines"}, true, "what a link leads to depends on its text and its base alone"},
	"deltas/extract/html":          {[]string{"deltas/scan", "deltas/extract/lines", "deltas/extract/links"}, true, "pages become lines, and so do the pieces of HTML that content reads back from JSON"},
	"deltas/content":               {[]string{"deltas/scan", "deltas/extract/lines", "deltas/extract/links", "deltas/extract/html"}, false, "what a document says does not know who read it"},
	"deltas/extract/jsondoc":       {[]string{"deltas/scan", "deltas/content", "deltas/extract/lines", "deltas/extract/links"}, true, "JSON becomes a draft"},
	"deltas/extract/feed":          {[]string{"deltas/scan", "deltas/content", "deltas/extract/lines", "deltas/extract/links", "deltas/extract/html", "deltas/extract/jsondoc"}, false, "feeds become drafts; JSON Feed is JSON first"},
	"deltas/extract":               {[]string{"deltas/scan", "deltas/content", "deltas/extract/lines", "deltas/extract/html", "deltas/extract/jsondoc", "deltas/extract/feed"}, false, "reading knows nothing of what was judged, kept or sent"},
	"deltas/diff":                  {[]string{"deltas/scan", "deltas/content", "deltas/extract/lines"}, false, "lines differ whatever comes of it"},
	"deltas/codec":                 {[]string{"deltas/scan", "deltas/content", "deltas/diff"}, false, "a coder makes contents small and decides nothing"},
	"deltas/judge":                 {[]string{"deltas/scan", "deltas/content", "deltas/diff", "deltas/codec", "deltas/extract/lines"}, true, "the judge is pure: it sees contents, and never how they were read"},
	"engine/admission":             {nil, true, "shares of workers are counts"},
	"engine/pace":                  {[]string{"channel", "overlay"}, true, "due times are computed from values, and the schedule keeps these"},
	"engine/schedule":              {[]string{"channel", "overlay", "engine/pace", "engine/admission"}, true, "the schedule is pure: values and the time in, values out"},
	"engine/store":                 {[]string{"channel", "deltas", "fetcher", "overlay", "internal/datadir", "internal/volume"}, false, "what is kept on disk does not know who decides on it"},
	"ownership/sharedlog":          {[]string{"internal/planted", "ownership/internal/disk"}, false, "the log does not know what its entries change"},
	"ownership/internal/state":     {[]string{"channel", "internal/planted", "ownership/internal/disk", "ownership/internal/wire"}, false, "a range's state is a function of its log, however that is replicated"},
	"ownership/internal/tables":    {[]string{"channel", "ownership/internal/placement", "ownership/internal/raftnet", "ownership/internal/state", "ownership/internal/wire"}, false, "the cluster's table is a function of its commands, however it is replicated"},
	"notify/position":              {[]string{"channel"}, true, "the delivery cursor is pure: it knows neither store, endpoint nor clock"},
	"notify/streak":                {[]string{"channel"}, true, "when an endpoint is tried, and by which deliverer, are rules on values"},
	"notify/payload":               {[]string{"api", "channel", "deltas"}, false, "what both kinds of sink send must not know who sends it"},
	"notify/stream":                {[]string{"api", "channel", "internal/part", "notify/payload", "notify/internal/metric"}, false, "streams know nothing of webhooks"},
	"honeycomb/local":              {[]string{"honeycomb"}, true, "one owner's solve is pure: summaries in, rates and a summary out"},
	"wedge/hosts/grants":           {[]string{"channel", "internal/planted"}, true, "who gets how much of a cap is decided by values and the time"},
	"wedge/hosts":                  {[]string{"channel", "wedge/hosts/grants"}, false, "what nodes tell each other of hosts needs neither orders nor reports"},
	"overlay/ring":                 {[]string{"channel"}, true, "the paper's overlay is pure arithmetic"},
	"cmd/corona/internal/cli":      {[]string{"api", "channel", "deltas", "internal/timespan"}, false, "what the commands share must not know the commands"},
	"cmd/corona/channels":          {[]string{"api", "channel", "deltas", "cmd/corona/internal", "internal/timespan"}, false, nodeCommand},
	"cmd/corona/lists":             {[]string{"api", "channel", "cmd/corona/internal"}, false, nodeCommand},
	"cmd/corona/status":            {[]string{"api", "cmd/corona/internal", "internal/timespan"}, false, nodeCommand},
	"cmd/corona/subscriptions":     {[]string{"api", "channel", "cmd/corona/internal", "cmd/corona/channels"}, false, nodeCommand},
	"cmd/corona/watch":             {[]string{"api", "channel", "cmd/corona/internal", "internal/timespan"}, false, nodeCommand},
	"cmd/corona/sim":               {[]string{"benchmarks/sim", "cmd/corona/internal", "internal/timespan"}, false, "a simulation needs no node"},
	"cmd/corona/solve":             {[]string{"honeycomb", "cmd/corona/internal", "internal/timespan"}, false, "a solve needs no node"},
	"cmd/corona/trace":             {[]string{"deltas", "cmd/corona/internal"}, false, "a replay needs no node"},
	"notify/webhook":               {[]string{"api", "channel", "internal/guard", "internal/planted", "notify/payload", "notify/position", "notify/streak", "notify/internal/metric"}, false, "webhooks know nothing of streams"},
	"ownership/internal/placement": {nil, true, "where replicas lie is decided by values: a table, health and configurations"},
	"cmd/corona/nodes":             {[]string{"api", "cmd/corona/internal"}, false, nodeCommand},
	"ownership/backup":             {[]string{"channel", "ownership/internal/state", "ownership/internal/transfer", "ownership/internal/wire"}, false, "a backup is read and checked by programs that hold no node"},
	"cmd/corona/backups":           {[]string{"api", "cmd/corona/internal", "internal/datadir", "ownership/backup"}, false, "a backup is checked where it is, and a node makes it or takes it"},
}

// barred names what a room that is not pure must not import either.
var barred = map[string][]string{
	"ownership/internal/state":  {"github.com/hashicorp/raft", "net", "os", "log/slog"},
	"ownership/internal/tables": {"sync", "context", "net", "os", "log/slog", "time"},
}

// TestRooms holds the arrows inside folders: none leads from a pure package to its
// shell.
func TestRooms(t *testing.T) {
	found := make(map[string]bool)
	for file, imports := range sourceImports(t) {
		dir := path.Dir(file)
		room, known := rooms[dir]
		if !known || strings.HasSuffix(file, "_test.go") {
			continue
		}
		found[dir] = true
		for _, imported := range imports {
			checkRoom(t, file, room, imported)
			if slices.Contains(barred[dir], imported) {
				t.Errorf("%s imports %q, but must do without: %s", file, imported, room.why)
			}
		}
	}
	for dir := range rooms {
		if !found[dir] {
			t.Errorf("%s has arrows here, but no source", dir)
		}
	}
}

func checkRoom(t *testing.T, file string, room room, imported string) {
	inside, ours := strings.CutPrefix(imported, module+"/")
	first, _, _ := strings.Cut(imported, "/")
	within := func(may string) bool { return inside == may || strings.HasPrefix(inside, may+"/") }
	switch {
	case ours && !slices.ContainsFunc(room.may, within),
		room.pure && !ours && !slices.Contains(pureModules, imported) && (strings.Contains(first, ".") || slices.Contains(impure, imported)):
		t.Errorf("%s imports %q, but may import only %v (pure: %v): %s", file, imported, room.may, room.pure, room.why)
	}
}

func TestArrows(t *testing.T) {
	for file, imports := range sourceImports(t) {
		folder := topFolder(path.Dir(file))
		rule, known := rules[folder]
		if !known {
			t.Errorf("%s: folder %q has no rule here: say what it may import, and why", file, folder)
			continue
		}
		for _, imported := range imports {
			checkArrow(t, file, folder, rule, imported)
			checkExclusive(t, file, folder, imported)
		}
	}
}

func checkArrow(t *testing.T, file, folder string, rule rule, imported string) {
	inside, ok := strings.CutPrefix(imported, module)
	if !ok {
		return
	}
	target := topFolder(strings.TrimPrefix(inside, "/"))
	if target == "deltas" && folder != target && inside != "/deltas" && inside != "/deltas/ready" {
		t.Errorf("%s imports %q, but deltas is a facade: what others need of its rooms stands there", file, imported)
	}
	if target == folder || slices.Contains(rule.may, target) || slices.Contains(rule.may, "*") {
		return
	}
	if (target == "loadgen" || folder == "" && target == "server") && strings.HasSuffix(file, "_test.go") {
		return // its reader of recorded histories, and a node as it is served
	}
	t.Errorf("%s imports %q, but %q may import only %v: %s", file, imported, folder, rule.may, rule.why)
}

func checkExclusive(t *testing.T, file, folder, imported string) {
	if strings.HasSuffix(file, "_test.go") || folder == "benchmarks" {
		return
	}
	for engine, homes := range exclusive {
		if (imported == engine || strings.HasPrefix(imported, engine+"/")) && !slices.Contains(homes, folder) {
			t.Errorf("%s imports %q, which lives in %v alone", file, imported, homes)
		}
	}
}

// topFolder returns the first element of a slash-separated folder, "" for the
// module's root.
func topFolder(dir string) string {
	if dir == "." {
		return ""
	}
	first, _, _ := strings.Cut(dir, "/")
	return first
}

// sourceImports returns the imports of every Go file of the module, by
// slash-separated path from its root.
func sourceImports(t *testing.T) map[string][]string {
	files := make(map[string][]string)
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && name != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" || isOtherModule(name)) {
			return fs.SkipDir
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.FromSlash(name), nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			files[name] = append(files[name], imported)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 10 {
		t.Fatalf("found only %d Go files: the walk is broken", len(files))
	}
	return files
}

func isOtherModule(dir string) bool {
	_, err := os.Stat(filepath.Join(filepath.FromSlash(dir), "go.mod"))
	return err == nil
}
