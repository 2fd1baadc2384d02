package scenario

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestDefaults(t *testing.T) {
	s, err := Parse("x.yaml", []byte("name: x\nduration: 1m\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.Origins.Channels != 1000 || s.Subscriptions.Count != 1000 || s.Nodes.Count != 1 || s.Seed != 1 || s.Origins.Popularity.Exponent != 0.5 {
		t.Errorf("%+v", s)
	}
}

// The example of the contract, all keys of which are understood.
const example = `
name: example
seed: 7
duration: 2m
warmup: 30s
nodes: {count: 1, args: [--interval, 30s, --floor, 5s]}
origins: {channels: 100000, hosts: 1000, speedup: 60, popularity: "zipf:0.5", changes: poisson,
          latency: {p50: 20ms, p99: 300ms}, errors: 1%, slow: "1%:2s", dead: 0.5%, throttled: "1%:30s", tls: false, lying_clock: 0%}
subscriptions: {count: 500000, ramp: 30s, sinks: {webhook: 50%, sse: 50%}, endpoints: 1000, streams: 1000, hang: 0%, fail: 0%}
events: [{at: 60s, do: kill, node: 1}, {at: 70s, do: start, node: 1}, {at: 90s, do: crowd, channel: 7, subscriptions: 10000}]
thresholds: [{metric: updates_missed, max: 0}, {metric: detection_ms.p99, max: 1.15 * planned}, {metric: cpu_us_per_poll, max: 30}]
`

func TestExample(t *testing.T) {
	s, err := Parse("example.yaml", []byte(example), []string{"origins.hosts=10", "duration=3m", "origins.latency.p50=1ms"})
	if err != nil {
		t.Fatal(err)
	}
	o := s.Origins
	if o.Hosts != 10 || s.Duration != 3*time.Minute || o.Latency.P50 != time.Millisecond {
		t.Errorf("--set did nothing: %+v", s)
	}
	if o.Errors != 0.01 || o.Slow != (ShareFor{0.01, 2 * time.Second}) || o.Dead != 0.005 || s.Events[2].Subscriptions != 10000 {
		t.Errorf("%+v", s)
	}
	if l := s.Limits(); len(l) != 3 || !l[1].Max.Planned || l[1].Max.Value != 1.15 || l[0].Max.Value != 0 || l[0].Min != nil {
		t.Errorf("limits %+v", l)
	}
}

// What is wrong is named by file, line and key.
func TestRefused(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", "x.yaml: the scenario is empty"},
		{"name: [", "x.yaml:"},
		{"name: x\nduration: 1m\ndurations: 2m\n", "x.yaml:3: durations: unknown key"},
		{"name: x\nduration: 1m\norigins:\n  channels: 5\n  host: 2\n", "x.yaml:5: origins.host: unknown key"},
		{"name: x\nduration: 1m\norigins:\n  speedup: -1\n", "x.yaml:4: origins.speedup: \"-1\""},
		{"name: x\nduration: 1m\norigins: {hosts: 0}\n", "x.yaml:3: origins.hosts: want 1"},
		{"name: x\nduration: 1m\norigins: {errors: 200%}\n", "x.yaml:3: origins.errors"},
		{"name: x\nduration: 1m\norigins: {slow: 1%}\n", "x.yaml:3: origins.slow"},
		{"name: x\nduration: 1m\norigins: {popularity: pareto}\n", "zipf"},
		{"name: x\nduration: soon\n", "x.yaml:2: duration: \"soon\""},
		{"name: x\n", "x.yaml: duration: want more than 0"},
		{"duration: 1m\n", "x.yaml: name: want a name"},
		{"name: x\nduration: 1m\nduration: 2m\n", "x.yaml:3: duration: the key is there twice"},
		{"name: x\nduration: 1m\nthresholds:\n- {metric: polls_lost, max: 0}\n", "x.yaml:4: thresholds[0].metric: no figure \"polls_lost\""},
		{"name: x\nduration: 1m\nthresholds:\n- {metric: polls, max: 2 * planned}\n", "x.yaml:4: thresholds[0]: nothing is planned"},
		{"name: x\nduration: 1m\nthresholds:\n- {metric: polls}\n", "x.yaml:4: thresholds[0]: want a max or a min"},
		{"name: x\nduration: 1m\nthresholds:\n- {metric: polls, max: 2 * plan}\n", "x.yaml:4: thresholds[0].max"},
		{"name: x\nduration: 1m\nthresholds:\n- {metric: polls, max: inf}\n", "x.yaml:4: thresholds[0].max"},
		{"name: x\nduration: 1m\nthresholds:\n- {metric: audit.violations, max: 0}\n", "x.yaml:4: thresholds[0].metric: the scenario does not measure audit"},
		{"name: x\nduration: 1m\nprobes: [restart]\nthresholds:\n- {metric: backup.lost, max: 0}\n", "x.yaml:5: thresholds[0].metric: the scenario does not measure backup"},
		{"name: x\nduration: 1m\nevents:\n- {at: 2m, do: kill, node: 1}\n", "x.yaml:4: events[0].at"},
		{"name: x\nduration: 1m\nevents:\n- {at: 2s, do: kill, node: 2}\n", "x.yaml:4: events[0].node"},
		{"name: x\nduration: 1m\nevents:\n- {at: 2s, do: explode}\n", "x.yaml:4: events[0].do"},
		{"name: x\nduration: 1m\nevents:\n- {at: 3s, do: update}\n- {at: 2s, do: update}\n", "x.yaml:4: events: want them by time"},
		{"name: x\nduration: 1m\ntarget: [nonsense]\n", "x.yaml:3: target[0]"},
		{"name: x\nduration: 1m\ntarget: ['http://127.0.0.1:1']\nevents: [{at: 1s, do: kill, node: 1}]\n", "x.yaml:4: events[0].do"},
		{"name: x\nduration: 1m\nsubscriptions: {sinks: {webhook: 50%, sse: 40%}}\n", "x.yaml:3: subscriptions.sinks: webhook and sse come to 90%"},
		{"name: x\nduration: 1m\ntarget: ['http://127.0.0.1:1']\norigins: {tls: true}\n", "x.yaml:4: origins.tls"},
		{"name: x\nduration: 1m\nprofiles: [cpu, block]\n", "x.yaml:3: profiles[1]: want each of cpu"},
		{"name: x\nduration: 1m\nprofiles: [cpu, cpu]\n", "x.yaml:3: profiles[1]"},
		{"name: x\nduration: 1m\nprobes: [disk]\n", "x.yaml:3: probes[0]: want each of memory"},
		{"name: x\nduration: 1m\nprobes: [memory]\ntarget: ['http://127.0.0.1:1']\n", "x.yaml:3: probes[0]: nodes that"},
		{"name: x\nduration: 1m\naudit: true\nnodes: {count: 3}\n", "x.yaml:3: audit: want nodes.count 1"},
		{"name: x\nduration: 1m\naudit: true\norigins: {tls: true}\n", "x.yaml:3: audit: want origins without tls"},
		{"name: x\nduration: 1m\norigins: {sick: {slow: 60%, harmful: 50%}}\n", "x.yaml:3: origins.sick: come to more"},
		{"name: x\nduration: 1m\nsubscriptions: {batches: 0}\n", "x.yaml:3: subscriptions.batches: want 1"},
		{"name: x\nduration: 1m\nevents:\n- {at: 2s, do: leave}\n", "x.yaml:4: events[0].share: want more"},
		{"name: x\nduration: 1m\nrates: true\nnodes: {count: 3}\n", "x.yaml:3: rates: want nodes.count 1"},
		{"name: x\nduration: 1m\nevents:\n- {at: 50s, do: crowd, subscriptions: 9, over: 11s}\n", "x.yaml:4: events[0].over"},
		{"name: x\nduration: 1m\norigins:\n  traces: no/such\n", "x.yaml:4: origins.traces: stat no/such"},
		{"name: x\nduration: 1m\norigins:\n  traces: .\n", "x.yaml:4: origins.traces: .: 0 files"},
		{"name: x\nduration: 1m\norigins:\n  changes: 'replay:no/such'\n", "x.yaml:4: origins.changes: stat no/such"},
		{"name: &a x\nduration: *a\n", "x.yaml:2: duration: aliases"},
		{"- x\n", "want keys"},
	}
	for _, test := range tests {
		_, err := Parse("x.yaml", []byte(test.text), nil)
		var wrong *Error
		if !errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), "x.yaml") || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q:\n %v, want %q", test.text, err, test.want)
		}
	}
	for _, set := range []string{"origins.hosts", "origins.host=3", "hosts.x=1", "origins.hosts=x", "origins.hosts=0", "duration.x=1"} {
		if _, err := Parse("x.yaml", []byte("name: x\nduration: 1m\n"), []string{set}); err == nil || !strings.Contains(err.Error(), set) {
			t.Errorf("--set %s: %v", set, err)
		}
	}
}

func TestRead(t *testing.T) {
	if names := Builtin(); !slices.Contains(names, "smoke") {
		t.Errorf("built in are %v", names)
	}
	trace := filepath.Join(t.TempDir(), "a.jsonl.zst") // which is not read here
	if err := os.WriteFile(trace, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range Builtin() {
		var set []string
		if name == "replay" {
			set = []string{"origins.traces=" + filepath.Dir(trace)}
		}
		if s, err := Read(name, set); err != nil || s.Name != name || len(s.Thresholds) == 0 {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	file := filepath.Join(t.TempDir(), "x.yaml")
	if err := os.WriteFile(file, []byte("name: x\nduration: 1m\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := Read(file, nil); err != nil || s.Name != "x" {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := Read("smok", nil); err == nil || !strings.Contains(err.Error(), "smoke") {
		t.Errorf("a name that is none: %v", err)
	}
}

func TestShares(t *testing.T) {
	for _, test := range []struct {
		n, total int
		exponent float64
		want     string
	}{
		{4, 2, 0.5, "[1 1 0 0]"},
		{4, 4, 0.5, "[1 1 1 1]"},
		{3, 9, 0, "[3 3 3]"},
		{3, 14, 1, "[7 4 3]"},
	} {
		if got := fmt.Sprint(Shares(test.n, test.total, test.exponent)); got != test.want {
			t.Errorf("Shares(%d, %d, %g) = %s, want %s", test.n, test.total, test.exponent, got, test.want)
		}
	}
}

func TestPlaces(t *testing.T) {
	for _, test := range []struct {
		channels, hosts int
		exponent        float64
		want            string
		all             int
	}{
		{5, 2, 0, "[0 1 2 3 4]", 5},
		{9, 3, 1, "[0 1 2 3 4 5 6 7 9]", 10}, // 4, 3 and 2 channels, of numbers modulo 3
	} {
		o := Origins{Channels: test.channels, Hosts: test.hosts, Spread: Popularity{test.exponent}}
		if places, all := o.Places(); fmt.Sprint(places) != test.want || all != test.all {
			t.Errorf("%+v: %v of %d, want %s of %d", test, places, all, test.want, test.all)
		}
	}
}
