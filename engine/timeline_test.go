package engine

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine/store"
	"github.com/seed-91e7e7c1/corona/fetcher"
	"github.com/seed-91e7e7c1/corona/overlay"
)

var update = flag.Bool("update", false, "write what happens into testdata instead of comparing with it")

// TestTimeline runs the scripts of testdata in virtual time and compares what
// happened, instant by instant. A script is a list of blocks, each a few commands,
// a line of dashes, what happened, and an empty line; lines that begin with # are
// notes. script has the commands.
func TestTimeline(t *testing.T) {
	files, err := filepath.Glob("testdata/*.golden")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".golden")
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { runScript(t, file) })
		})
	}
}

const dashes = "----"

func runScript(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := &script{t: t}
	var out strings.Builder
	for i, block := range strings.Split(strings.TrimRight(string(text), "\n"), "\n\n") {
		if i > 0 {
			out.WriteString("\n")
		}
		commands, _, _ := strings.Cut(block, "\n"+dashes)
		out.WriteString(commands + "\n")
		if happened := s.block(commands); happened != "" {
			out.WriteString(dashes + "\n" + happened)
		}
	}
	s.world.close()
	if *update {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got := out.String(); got != string(text) {
		t.Errorf("%s: have\n%s\nwant\n%s", file, got, text)
	}
}

// script runs commands on a world.
type script struct {
	t     *testing.T
	world *world
	out   strings.Builder

	written uint64 // bytes, when it was last printed
}

func (s *script) block(commands string) string {
	s.out.Reset()
	for line := range strings.SplitSeq(commands, "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			s.command(strings.Fields(line))
		}
	}
	return s.out.String()
}

// command runs one line: what to do, to which channel, and arguments key=value.
//
//	config interval=D floor=D …      first: the engine's Config
//	origin NAME status=N body=TEXT …  what the origin of a channel answers from now on
//	owner NAME hold=true …            how the owner judges it from now on
//	order NAME rate=N width=N …       an order, with the owner's version
//	repace NAME rate=N/K width=N …    a pace
//	commit NAME body=TEXT             another poller's content becomes a version
//	drop NAME
//	run D                             lets time pass, and prints what happens
//	restart, crash, kill              in good order; losing what is not synced; as SIGKILL
//	lose NAME                         takes its contents out of the cache
//	stats NAME, load, writes          prints them; whether the cache has written
func (s *script) command(fields []string) {
	verb, name, args := fields[0], "", map[string]string{}
	for _, field := range fields[1:] {
		if key, value, found := strings.Cut(field, "="); found {
			args[key] = value
		} else {
			name = field
		}
	}
	if verb == "config" {
		var config Config
		set(s.t, &config, args)
		s.world = newWorld(s.t, config)
		return
	}
	run, ok := map[string]func(*script, string, map[string]string){
		"origin": (*script).origin, "owner": (*script).owner, "order": (*script).order, "commit": (*script).commit,
		"drop": (*script).drop, "repace": (*script).repace, "run": (*script).run, "restart": (*script).restart, "crash": (*script).crash, "kill": (*script).kill,
		"lose": (*script).lose, "writes": (*script).writes, "stats": (*script).stats, "load": (*script).load,
	}[verb]
	if !ok {
		s.t.Fatalf("no command %q", verb)
	}
	run(s, name, args)
}

func urlOf(name string) string { return "http://" + name[:1] + ".example/" + name }

func (s *script) origin(name string, args map[string]string) {
	o := &origin{status: 200}
	if class, ok := args["fails"]; ok {
		delete(args, "fails")
		o.fails, o.class = true, map[string]fetcher.Class{"dns": fetcher.DNS, "timeout": fetcher.Timeout, "busy": fetcher.Busy, "redirect": fetcher.Redirect}[class]
	}
	set(s.t, o, args)
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	s.world.origins[urlOf(name)] = o
}

func (s *script) owner(name string, args map[string]string) {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	set(s.t, s.world.own(channel.IDOf(urlOf(name))), args)
}

func (s *script) order(name string, args map[string]string) {
	o := Order{Channel: channel.IDOf(urlOf(name)), URL: urlOf(name), Width: 1, Incarnation: 1}
	s.world.mu.Lock()
	owned := s.world.own(o.Channel)
	o.Version, o.Hash = owned.version, owned.hash()
	if o.MovedTo = owned.movedTo; owned.learned {
		o.Ask = owned.movedTo
	} else if !owned.movedSince.IsZero() {
		o.MovedAgain = owned.movedSince.Add(movedHold)
	}
	s.world.mu.Unlock()
	set(s.t, &o, args)
	s.world.engine.Order(o)
	synctest.Wait() // orders take effect one by one
}

func (s *script) repace(name string, args map[string]string) {
	p := Pace{Channel: channel.IDOf(urlOf(name)), Width: 1, Incarnation: 1}
	set(s.t, &p, args)
	s.world.engine.Repace(p)
	synctest.Wait()
}

func (s *script) commit(name string, args map[string]string) {
	core := coreOf(s.t, args["body"])
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	o := s.world.own(channel.IDOf(urlOf(name)))
	o.version, o.core = o.version+1, core
}

func (s *script) drop(name string, _ map[string]string) {
	s.world.engine.Drop(channel.IDOf(urlOf(name)))
}

func (s *script) run(d string, _ map[string]string) {
	s.world.pass(duration(s.t, d))
	for _, e := range s.world.drain() {
		fmt.Fprintf(&s.out, "%9.3f %s %s\n", e.at.Seconds(), e.name, e.text)
	}
}

func (s *script) restart(string, map[string]string) { s.world.restart() }
func (s *script) crash(string, map[string]string)   { s.world.crash() }

// lose takes a channel's contents out of the cache.
func (s *script) lose(name string, _ map[string]string) {
	c := s.world.engine.cache
	id := channel.IDOf(urlOf(name))
	if err := c.DB().DeleteRange(store.ContentKey(id, deltas.Hash{}), append(store.ContentKey(id, lastHash), 0), pebble.Sync); err != nil {
		s.t.Fatal(err)
	}
}

// writes prints how much the cache has written since the last time.
func (s *script) writes(string, map[string]string) {
	written := s.world.engine.cache.DB().Metrics().WAL.BytesIn
	fmt.Fprintf(&s.out, "the cache has written: %v\n", written != s.written)
	s.written = written
}

func (s *script) kill(string, map[string]string) { s.world.kill() }

func (s *script) stats(name string, _ map[string]string) {
	st, ok := s.world.engine.Stats(channel.IDOf(urlOf(name)))
	if !ok {
		fmt.Fprintf(&s.out, "%s: not ordered\n", name)
		return
	}
	fmt.Fprintf(&s.out, "%s: last %s next %s status %d failures %d size %d error %q\n", name,
		s.since(st.LastPoll), s.since(st.NextPoll), st.LastStatus, st.Failures, st.SizeBytes, st.LastError)
	if st.FinalURL != "" || st.MovedTo != "" {
		fmt.Fprintf(&s.out, "   ends at %s, moved to %s, same as %s\n", nameOf(st.FinalURL), nameOf(st.MovedTo), s.nameOf(st.SameAs))
	}
	for _, b := range st.Bounds {
		fmt.Fprintf(&s.out, "   bound %s %s clamped %v said %q\n", b.Source, b.Interval, b.Clamped, b.Said)
	}
	if w := st.Waiting; w != nil {
		fmt.Fprintf(&s.out, "   waits for %s until %s: %s\n", w.For, s.since(w.Until), w.Detail)
	}
	if h := st.Host; h.Refusals > 0 || h.Scope != "" {
		fmt.Fprintf(&s.out, "   host %s gap %s parallel %d resting until %s scope %q refusals %d\n", h.Name, h.Gap, h.Parallel, s.since(h.RestingUntil), h.Scope, h.Refusals)
	}
}

func (s *script) nameOf(id channel.ID) string {
	if id == (channel.ID{}) {
		return "none"
	}
	return s.world.nameOfID(id)
}

func (s *script) since(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return fmt.Sprintf("%.3f", t.Sub(s.world.start).Seconds())
}

func (s *script) load(string, map[string]string) {
	l := s.world.engine.Load()
	fmt.Fprintf(&s.out, "channels %d queued %d in flight %d lateness p99 %s\n", l.Channels, l.Queued, l.InFlight, l.LatenessP99)
}

// set fills the fields of a struct, named without regard to case.
func set(t *testing.T, dst any, args map[string]string) {
	t.Helper()
	v := reflect.ValueOf(dst).Elem()
	for key, value := range args {
		switch f := fieldOf(v, key).(type) {
		case *time.Duration:
			*f = duration(t, value)
		case *int:
			*f = number(t, value)
		case *uint64:
			*f = uint64(number(t, value))
		case *bool:
			*f = value == "true"
		case *string:
			*f = value
		case *overlay.Rate:
			polls, intervals, _ := strings.Cut(value, "/")
			f.Polls, f.Intervals = uint32(number(t, polls)), uint32(number(t, cmp.Or(intervals, "1")))
		default:
			t.Fatalf("%T has no %q", dst, key)
		}
	}
}

func fieldOf(v reflect.Value, name string) any {
	f := v.FieldByNameFunc(func(field string) bool { return strings.EqualFold(field, name) })
	if !f.IsValid() {
		return nil
	}
	return reflect.NewAt(f.Type(), f.Addr().UnsafePointer()).Interface()
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func duration(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
