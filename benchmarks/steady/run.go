package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/benchmarks/internal/child"
)

// result is what the scenario found. Lateness is from a poll's due time to the
// start of its request, as the node's histogram has it: the upper bound of the
// bucket that holds the percentile.
type result struct {
	Channels       int     `json:"channels"`
	Hosts          int     `json:"hosts"`
	IntervalS      float64 `json:"interval_s"`
	ImportS        float64 `json:"import_s"`
	FirstPollsS    float64 `json:"first_polls_s"` // from the end of the import until every channel has content
	WindowS        float64 `json:"window_s"`
	Polls          float64 `json:"polls"`
	PollsPerS      float64 `json:"polls_per_s"`
	PlannedPerS    float64 `json:"planned_polls_per_s"`
	NotModified    float64 `json:"not_modified_ratio"`
	LatenessP50Ms  float64 `json:"lateness_p50_ms"`
	LatenessP99Ms  float64 `json:"lateness_p99_ms"`
	CPUCores       float64 `json:"cpu_cores"`
	CPUPerPollUs   float64 `json:"cpu_per_poll_us"`
	OriginCPUCores float64 `json:"origin_cpu_cores"`
	RSSBytes       float64 `json:"rss_bytes"`
	HeapBytes      float64 `json:"heap_bytes"`
	DataBytes      int64   `json:"data_bytes"` // of the data directory at the end
}

// scenario is a running origin and node.
type scenario struct {
	options
	origin, node *child.Process
	originURL    string
	nodeURL      string
	data         string
	client       *api.Client
}

func run(ctx context.Context, o options) (result, error) {
	folder, err := os.MkdirTemp("", "corona-steady-")
	if err != nil {
		return result{}, err
	}
	defer os.RemoveAll(folder)
	s := &scenario{options: o}
	if err := s.start(ctx, folder); err != nil {
		return result{}, err
	}
	defer s.origin.Close()
	defer s.node.Close()
	return s.measureAll(ctx)
}

func (s *scenario) start(ctx context.Context, folder string) error {
	binary, err := child.Build(ctx, folder)
	if err != nil {
		return err
	}
	origin, err := child.FreeAddress(ctx)
	if err != nil {
		return err
	}
	node, err := child.FreeAddress(ctx)
	if err != nil {
		return err
	}
	s.originURL, s.nodeURL = "http://"+origin, "http://"+node
	s.data = filepath.Join(folder, "data")
	if s.origin, err = begin(filepath.Join(folder, "origin.log"), binary, "loadgen", "origin", "--listen", origin,
		"--channels", strconv.Itoa(s.channels), "--hosts", strconv.Itoa(s.hosts),
		"--seed", strconv.FormatUint(s.seed, 10), "--speedup", fmt.Sprint(s.speedup)); err != nil {
		return err
	}
	if s.node, err = begin(filepath.Join(folder, "node.log"), binary, "serve", "--data", s.data, "--listen", node,
		"--allow-private", "--interval", s.interval.String()); err != nil {
		return err
	}
	if s.client, err = api.NewClient(s.nodeURL, nil); err != nil {
		return err
	}
	return s.await(ctx, "node and origin to serve", time.Minute, func() (bool, error) {
		return answers(ctx, s.nodeURL+"/readyz") && answers(ctx, s.originURL+"/_channels"), nil
	})
}

func begin(log, binary string, args ...string) (*child.Process, error) {
	process, err := child.New(log, binary, args...)
	if err != nil {
		return nil, err
	}
	return process, process.Start()
}

func (s *scenario) measureAll(ctx context.Context) (result, error) {
	r := result{Channels: s.channels, Hosts: s.hosts, IntervalS: s.interval.Seconds()}
	begun := time.Now()
	if err := s.subscribeAll(ctx); err != nil {
		return r, err
	}
	r.ImportS = time.Since(begun).Seconds()
	begun = time.Now()
	if err := s.awaitFirstPolls(ctx); err != nil {
		return r, err
	}
	r.FirstPollsS = time.Since(begun).Seconds()
	logf("every channel has content; settling for %s", s.settle)
	if err := pause(ctx, s.settle); err != nil {
		return r, err
	}
	if err := s.window(ctx, &r); err != nil {
		return r, err
	}
	if err := s.node.Stop(); err != nil {
		return r, err
	}
	var err error
	r.DataBytes, err = diskUsage(s.data)
	return r, err
}

// subscribeAll imports what the origin lists, as corona import does.
func (s *scenario) subscribeAll(ctx context.Context) error {
	response, err := get(ctx, s.originURL+"/_channels")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	requests := func(yield func(api.SubscribeRequest) bool) {
		for lines.Scan() {
			if !yield(api.SubscribeRequest{URL: lines.Text(), Sink: api.Sink{Type: api.SinkSSE}}) {
				return
			}
		}
	}
	made := 0
	for answer, err := range s.client.Batch(ctx, requests) {
		if err != nil {
			return fmt.Errorf("import: %w", err)
		}
		if answer.Error != nil {
			return fmt.Errorf("import: %w", answer.Error)
		}
		made++
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("list channels: %w", err)
	}
	if made != s.channels {
		return fmt.Errorf("import: %d subscriptions, want %d", made, s.channels)
	}
	logf("imported %d channels", made)
	return nil
}

func (s *scenario) awaitFirstPolls(ctx context.Context) error {
	return s.await(ctx, "first polls", 30*time.Minute, func() (bool, error) {
		m, err := scrape(ctx, s.nodeURL)
		if err != nil {
			return false, err
		}
		return m.sum("corona_engine_polls_total", `outcome="changed"`) >= float64(s.channels), nil
	})
}

// window reads counters at its two ends; what grew between them is the result.
func (s *scenario) window(ctx context.Context, r *result) error {
	before, originBefore, err := s.read(ctx)
	if err != nil {
		return err
	}
	begun := time.Now()
	if err := pause(ctx, s.measure); err != nil {
		return err
	}
	after, originAfter, err := s.read(ctx)
	if err != nil {
		return err
	}
	r.WindowS = time.Since(begun).Seconds()
	grown := after.since(before)
	r.Polls = grown.sum("corona_engine_polls_total")
	r.PollsPerS = r.Polls / r.WindowS
	r.PlannedPerS = float64(s.channels) / s.interval.Seconds()
	r.NotModified = grown.sum("corona_engine_polls_total", `outcome="not_modified"`) / r.Polls
	r.LatenessP50Ms = 1000 * grown.quantile("corona_engine_lateness_seconds", 0.50)
	r.LatenessP99Ms = 1000 * grown.quantile("corona_engine_lateness_seconds", 0.99)
	r.CPUCores = grown.sum("process_cpu_seconds_total") / r.WindowS
	r.CPUPerPollUs = 1e6 * grown.sum("process_cpu_seconds_total") / r.Polls
	r.OriginCPUCores = (originAfter - originBefore).Seconds() / r.WindowS
	r.RSSBytes = after.sum("process_resident_memory_bytes")
	r.HeapBytes = after.sum("go_memstats_heap_inuse_bytes")
	return nil
}

func (s *scenario) read(ctx context.Context) (metrics, time.Duration, error) {
	node, err := scrape(ctx, s.nodeURL)
	if err != nil {
		return nil, 0, err
	}
	origin, err := cpuTime(s.origin.PID())
	return node, origin, err
}

// await asks until it is so, or the time is over, or a process has ended.
func (s *scenario) await(ctx context.Context, what string, within time.Duration, so func() (bool, error)) error {
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for begun := time.Now(); time.Since(begun) < within; {
		if ok, err := so(); ok || err != nil {
			return err
		}
		for _, process := range []*child.Process{s.origin, s.node} {
			if err := process.Alive(); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
	return fmt.Errorf("waited %s for %s", within, what)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func answers(ctx context.Context, url string) bool {
	response, err := get(ctx, url)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

func get(ctx context.Context, url string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	return http.DefaultClient.Do(request)
}

func logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", args...)
}
