package engine

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"
)

// gather returns the values of all metrics, and how often histograms were used.
// A label's value follows the name.
func gather(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		if !strings.HasPrefix(family.GetName(), "corona_engine_") {
			t.Errorf("metric %s", family.GetName())
		}
		for _, m := range family.Metric {
			name := strings.TrimPrefix(family.GetName(), "corona_engine_")
			for _, label := range m.Label {
				name += " " + label.GetValue()
			}
			values[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return values
}

// counterValue returns what a counter has counted.
func counterValue(t *testing.T, c prometheus.Counter) float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return families[0].Metric[0].GetCounter().GetValue()
}

func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Config{Interval: 10 * time.Second, Floor: time.Second, Workers: 8})
		registry := prometheus.NewRegistry()
		w.close()
		engine, err := Open(Config{Dir: "other", fs: vfs.NewMem(), Interval: 10 * time.Second, Workers: 8}, w, w, registry)
		if err != nil {
			t.Fatal(err)
		}
		w.engine = engine
		go func() { w.ran <- engine.Run(t.Context()) }()
		w.serve(1, origin{status: 200, body: "x", etag: "e"}, urls(10, "a.example")...)
		w.serve(1, origin{status: 500}, urls(5, "b.example")...)
		w.serve(0, origin{status: 200}, urls(3, "c.example")...)
		w.serve(1, origin{status: 200, body: "x", after: time.Hour}, urls(2, "d.example")...)
		w.pass(25 * time.Second)
		got := gather(t, registry)
		for name, want := range map[string]float64{
			"polls_total changed": 10, "polls_total held": 0, "channels": 20, "hosts": 4, "workers": 8, "polls_in_flight": 1,
			"strange_polls_in_flight": 1, "slow_polls_in_flight": 0, "queued": 1, "scheduled": 15, "hosts_resting": 0,
			"report_seconds": 10, "cache_errors_total": 0, "clock_steps_total": 0,
		} {
			if value, ok := got[name]; !ok || value != want {
				t.Errorf("%s = %v, want %v", name, value, want)
			}
		}
		for _, name := range []string{"polls_total not_modified", "polls_total status_error", "lateness_seconds", "host_wait_seconds"} {
			if got[name] < 10 {
				t.Errorf("%s = %v", name, got[name])
			}
		}
		if all := got["polls_total changed"] + got["polls_total not_modified"] + got["polls_total status_error"]; all != got["lateness_seconds"] {
			t.Errorf("%v polls, %v of them timed", all, got["lateness_seconds"])
		}
		w.close()
		gather(t, registry) // a scrape may come late
	})
}
