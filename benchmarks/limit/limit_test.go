package main

import (
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/loadgen/scrape"
)

func TestParseWrk(t *testing.T) {
	const head = "Running 2s test @ http://127.0.0.1:9100/\n  1 threads and 64 connections\n"
	for _, test := range []struct {
		name, text string
		want       float64
		fails      bool
	}{
		{"answers", head + "  81234 requests in 2.00s, 13.1MB read\nRequests/sec:  40600.1\n", 81234, false},
		{"none", head + "  0 requests in 2.00s, 0.00B read\n", 0, false},
		{"nothing", "", 0, true},
		{"timeouts", head + "  9 requests in 2.00s, 1KB read\n  Socket errors: connect 0, read 0, write 0, timeout 3\n", 0, true},
		{"statuses", head + "  9 requests in 2.00s, 1KB read\n  Non-2xx or 3xx responses: 9\n", 0, true},
	} {
		got, err := parseWrk(test.text)
		if got != test.want || (err != nil) != test.fails {
			t.Errorf("%s: %g, %v", test.name, got, err)
		}
	}
}

func TestAnswered(t *testing.T) {
	m := scrape.Metrics{
		`corona_engine_polls_total{outcome="not_modified"}`: 100, `corona_engine_polls_total{outcome="changed"}`: 3,
		`corona_engine_polls_total{outcome="fetch_error"}`: 7, `corona_fetch_connections_open`: 64,
	}
	if got := answered(m); got != 103 {
		t.Errorf("%g polls, want 103: those without an answer are none", got)
	}
}

func TestNewSample(t *testing.T) {
	s := newSample("node", 20_000, 2*time.Second, 500*time.Millisecond, 1900*time.Millisecond)
	if s.Rate != 10_000 || s.PerRequest != 25 || s.OriginBusy != 0.95 || !s.Limited {
		t.Errorf("%+v", s)
	}
}

func turn(kind, name string, round int, perRequest, busy float64) sample {
	return sample{Kind: kind, Name: name, Round: round, PerRequest: perRequest, OriginBusy: busy, Limited: busy > busyMost}
}

func TestJudge(t *testing.T) {
	node := []sample{turn(kindNode, "node", 1, 20, 0.5), turn(kindNode, "node", 2, 40, 0.5), turn(kindNode, "node", 3, 30, 0.5)}
	for _, test := range []struct {
		name     string
		others   []sample
		measured bool
		value    float64
		ok       bool
	}{
		{"none", nil, false, 0, false},
		{"ratios within rounds", []sample{turn(kindWrk, "wrk", 1, 14, 0.5), turn(kindWrk, "wrk", 2, 28, 0.5), turn(kindWrk, "wrk", 3, 1, 0.5)}, true, 0.7, true},
		{"the cheapest counts", []sample{turn(kindWrk, "wrk", 1, 14, 0.5), turn(kindWrk, "wrk paced", 1, 8, 0.5)}, true, 0.4, false},
		{"but not a limited one", []sample{turn(kindWrk, "wrk", 1, 8, 0.91), turn(kindWrk, "wrk paced", 1, 14, 0.9)}, true, 0.7, true},
		{"nor a limited turn", []sample{turn(kindWrk, "wrk", 1, 8, 0.91), turn(kindWrk, "wrk", 2, 28, 0.5)}, true, 0.7, true},
		{"most limited", []sample{turn(kindWrk, "wrk", 1, 8, 0.91), turn(kindWrk, "wrk", 2, 28, 0.91), turn(kindWrk, "wrk", 3, 28, 0.5)}, true, 0, false},
		{"all limited", []sample{turn(kindWrk, "wrk", 1, 18, 1.5)}, true, 0, false},
		{"another kind", []sample{turn(kindLoop, "loop", 1, 18, 0.5)}, false, 0, false},
	} {
		got, measured := judge(summarise(append(test.others, node...)), kindWrk, 0.6)
		if measured != test.measured || got.Value != test.value || got.OK != test.ok {
			t.Errorf("%s: %+v, %t", test.name, got, measured)
		}
	}
	limited := summarise([]sample{turn(kindNode, "node", 1, 20, 1), turn(kindWrk, "wrk", 1, 18, 0.5)})
	if got, _ := judge(limited, kindWrk, 0.6); got.OK {
		t.Errorf("a limited node: %+v", got)
	}
}

func TestJudgeTargets(t *testing.T) {
	at := func(targets int, perRequest float64, resident int64) sample {
		return sample{Targets: targets, PerRequest: perRequest, Resident: resident}
	}
	r := result{Targets: []sample{at(10, 50, 1000), at(50, 40, 1400), at(10, 150, 5000), at(50, 120, 37000)}}
	r.judgeTargets()
	if cpu, memory := r.Thresholds[0], r.Thresholds[1]; cpu.Value != 3 || !cpu.OK || memory.Value != 80 || !memory.OK || !r.held() {
		t.Errorf("%+v", r.Thresholds)
	}
	if none := (&result{}); none.held() {
		t.Error("held without a measurement")
	}
}

func TestValidate(t *testing.T) {
	valid := options{channels: 100, hosts: 4, perHost: 2, rate: 1000, rounds: 1, window: time.Second, few: 10, many: 20, interval: time.Second}
	if err := valid.validate(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(o *options){
		"nothing":  func(o *options) { o.rounds = 0 },
		"channels": func(o *options) { o.channels = 7 },
		"rate":     func(o *options) { o.rate = 0 },
		"window":   func(o *options) { o.window = 1500 * time.Millisecond },
		"targets":  func(o *options) { o.many = o.few },
		"interval": func(o *options) { o.interval = 0 },
	} {
		o := valid
		if spoil(&o); o.validate() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
