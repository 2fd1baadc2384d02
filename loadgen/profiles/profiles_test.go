package profiles

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

// made returns a profile of stacks, outermost first, with their values and parts.
func made(stacks ...any) *profile.Profile {
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}}
	functions := make(map[string]*profile.Location)
	for i := 0; i < len(stacks); i += 3 {
		s := &profile.Sample{Value: []int64{1, int64(stacks[i+1].(int))}}
		if part := stacks[i+2].(string); part != "" {
			s.Label = map[string][]string{PartLabel: {part}}
		}
		for name := range strings.SplitSeq(stacks[i].(string), " ") {
			if functions[name] == nil {
				f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name}
				p.Function = append(p.Function, f)
				functions[name] = &profile.Location{ID: f.ID, Line: []profile.Line{{Function: f}}}
				p.Location = append(p.Location, functions[name])
			}
			s.Location = append([]*profile.Location{functions[name]}, s.Location...)
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

func example() *profile.Profile {
	return made(
		"main.main x.com/a/engine.work x.com/a/fetcher.get", 60, "poll",
		"main.main x.com/a/engine.work x.com/a/engine.work", 20, "poll",
		"main.main x.com/a/notify.send", 15, "deliver",
		"runtime.gc", 5, "")
}

func TestTop(t *testing.T) {
	text := ""
	for _, r := range Top(example(), 3) {
		text += fmt.Sprintf("%s %.2f %.2f;", r.Name, r.Flat, r.Cum)
	}
	if text != "fetcher.get 0.60 0.60;engine.work 0.20 0.80;notify.send 0.15 0.15;" {
		t.Error(text)
	}
	text = ""
	for _, r := range Parts(example()) {
		text += fmt.Sprintf("%s %.2f;", r.Name, r.Flat)
	}
	if text != "poll 0.80;deliver 0.15;other 0.05;" {
		t.Error(text)
	}
	if parts := Parts(made("main.main", 5, "")); parts != nil {
		t.Errorf("parts of a profile without labels: %v", parts)
	}
	if short := short("x.com/a/schedule.(*Schedule[go.shape.*uint8/x]).Begin"); short != "schedule.(*Schedule[go.shape.*uint8/x]).Begin" {
		t.Error(short)
	}
}

func TestFlame(t *testing.T) {
	drawn := string(Flame(example()))
	decoder := xml.NewDecoder(strings.NewReader(drawn))
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"<title>fetcher.get, 60.0 %</title>", "<title>all, 100.0 %</title>", `x="0.0" y="34" width="959.6"`} {
		if !strings.Contains(drawn, want) {
			t.Errorf("no %s in %s", want, drawn)
		}
	}
	if Flame(made()) != "" {
		t.Error("a drawing of nothing")
	}
}

func TestFolder(t *testing.T) {
	folder := t.TempDir()
	for _, run := range []string{"a-1", "a-2"} {
		if err := os.Mkdir(filepath.Join(folder, run), 0o755); err != nil {
			t.Fatal(err)
		}
		file, err := os.Create(filepath.Join(folder, run, File("n1", CPU)))
		if err == nil {
			err = errors.Join(example().Write(file), file.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for where, want := range map[string]float64{folder: 200, filepath.Join(folder, "a-1"): 100, filepath.Join(folder, "a"): 200} {
		if p, err := ReadFolder(where, CPU); err != nil || Total(p) != want {
			t.Errorf("%s: %v, want %g", where, err, want)
		}
	}
	if _, err := ReadFolder(folder, Heap); err == nil || !strings.Contains(err.Error(), "profiles: [heap]") {
		t.Errorf("a kind that is not there: %v", err)
	}
}

func TestFetch(t *testing.T) {
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.String() != "/debug/pprof/profile?seconds=3" || r.Header.Get("Authorization") != "Bearer x" {
			http.NotFound(w, r)
			return
		}
		_ = example().Write(w)
	}))
	defer node.Close()
	content, err := Fetch(t.Context(), node.URL+"/", "x", CPU, 3)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := profile.ParseData(content); err != nil || Total(p) != 100 {
		t.Error(err)
	}
	if _, err := Fetch(t.Context(), node.URL, "", Heap, 3); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("what is not there: %v", err)
	}
}

// Live bytes are those of the module's package nearest to the allocation.
func TestLiveByPackage(t *testing.T) {
	p := made(
		"main.main "+modulePath+"/engine.(*Engine).poll "+modulePath+"/fetcher.Get net/http.Do", 60, "",
		"main.main "+modulePath+"/engine.(*Engine).poll bytes.grow", 20, "",
		"x.com/a.f y.com/b/c.g", 5, "")
	p.SampleType[1] = &profile.ValueType{Type: "inuse_space", Unit: "bytes"}
	live, err := LiveByPackage(p)
	if got := fmt.Sprint(live); err != nil || got != "map[corona/engine:20 corona/fetcher:60 y.com/b/c:5]" {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := LiveByPackage(example()); !errors.Is(err, ErrNoHeap) {
		t.Errorf("a profile of the processor: %v", err)
	}
}
