package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/internal/child"
	"github.com/seed-91e7e7c1/corona/internal/process"
	"github.com/seed-91e7e7c1/corona/loadgen"
	"github.com/seed-91e7e7c1/corona/loadgen/scrape"
)

// world is what all parts share.
type world struct {
	options
	folder, binary string
	trace          string // of the document for Prometheus
	started        int    // processes so far
}

// scrapePath is where every host shows a sample to Prometheus.
const scrapePath = "/sample"

func newWorld(ctx context.Context, o options, folder string) (*world, error) {
	binary, err := child.Build(ctx, folder)
	if err != nil {
		return nil, err
	}
	w := &world{options: o, folder: folder, binary: binary, trace: filepath.Join(folder, "sample.jsonl.zst")}
	return w, writeTrace(w.trace, "a 1\n")
}

// writeTrace makes a recorded history of one document that never changes.
func writeTrace(name, body string) error {
	line, err := json.Marshal(map[string]any{"t": 1, "body": body})
	if err != nil {
		return err
	}
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		return err
	}
	return os.WriteFile(name, encoder.EncodeAll(append(line, '\n'), nil), 0o600)
}

// begin starts a process that ends with this one.
func (w *world) begin(name string, args ...string) (*child.Process, error) {
	w.started++
	p, err := child.New(filepath.Join(w.folder, fmt.Sprintf("%d.log", w.started)), name, args...)
	if err != nil {
		return nil, err
	}
	p.Bound = true
	if err := p.Start(); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// origin is a running origin and its channels.
type origin struct {
	*child.Process
	urls []string // channel n is on host n modulo hosts
}

// startOrigin starts an origin whose time runs so many times as fast.
func (w *world) startOrigin(ctx context.Context, channels int, speedup float64) (*origin, error) {
	address, err := child.OwnAddress(ctx)
	if err != nil {
		return nil, err
	}
	p, err := w.begin(w.binary, "loadgen", "origin", "--listen", address, "--channels", strconv.Itoa(channels), "--hosts", strconv.Itoa(w.hosts),
		"--seed", strconv.FormatUint(w.seed, 10), "--speedup", fmt.Sprint(speedup), "--trace", w.trace, "--path", scrapePath)
	if err != nil {
		return nil, err
	}
	if err := child.AwaitURL(ctx, "http://"+address+scrapePath, p); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	same, err := loadgen.NewOrigin(loadgen.Config{Listen: address, Channels: channels, Hosts: w.hosts, Seed: w.seed})
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	o := &origin{Process: p, urls: make([]string, channels)}
	for n := range o.urls {
		o.urls[n] = same.URL(n)
	}
	return o, nil
}

// addresses returns the hosts of the origin, in the order of their channels.
func (o *origin) addresses(hosts int) ([]string, error) {
	list := make([]string, hosts)
	for h := range list {
		u, err := url.Parse(o.urls[h])
		if err != nil {
			return nil, err
		}
		list[h] = u.Host
	}
	return list, nil
}

// node is a running node.
type node struct {
	*child.Process
	url string
}

// firstPollsWithin bounds how long channels may take to get content.
const firstPollsWithin = 20 * time.Minute

// startNode starts a node, subscribes to each URL once, and waits until each has content.
func (w *world) startNode(ctx context.Context, urls []string, args ...string) (*node, error) {
	address, err := child.OwnAddress(ctx)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(w.folder, fmt.Sprintf("data-%d", w.started))
	p, err := w.begin(w.binary, append([]string{"serve", "--data", data, "--listen", address, "--allow-private",
		"--host-parallel", strconv.Itoa(w.perHost)}, args...)...)
	if err != nil {
		return nil, err
	}
	n := &node{p, "http://" + address}
	if err := n.fill(ctx, urls); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return n, nil
}

func (n *node) fill(ctx context.Context, urls []string) error {
	if err := child.AwaitURL(ctx, n.url+"/readyz", n.Process); err != nil {
		return err
	}
	client, err := api.NewClient(n.url, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	requests := func(yield func(api.SubscribeRequest) bool) {
		for _, u := range urls {
			if !yield(api.SubscribeRequest{URL: u, Sink: api.Sink{Type: api.SinkSSE}}) {
				return
			}
		}
	}
	for answer, err := range client.Batch(ctx, requests) {
		if err != nil {
			return fmt.Errorf("subscribe: %w", err)
		}
		if answer.Error != nil {
			return fmt.Errorf("subscribe: %w", answer.Error)
		}
	}
	logf("%d channels; waiting for their first polls", len(urls))
	return child.Await(ctx, "first polls", firstPollsWithin, func() (bool, error) {
		m, err := scrape.Read(ctx, n.url)
		return err == nil && m.Sum(pollsTotal, `outcome="changed"`) >= float64(len(urls)), err
	}, n.Process)
}

// The metrics that are read.
const (
	pollsTotal      = "corona_engine_polls_total"
	connectionsOpen = "corona_fetch_connections_open"
	samplesTotal    = "prometheus_tsdb_head_samples_appended_total"
)

// answered returns the polls that ended in an answer about the document.
func answered(m scrape.Metrics) (sum float64) {
	for _, outcome := range []string{"not_modified", "unchanged", "changed", "held", "declined"} {
		sum += m.Sum(pollsTotal, fmt.Sprintf("outcome=%q", outcome))
	}
	return sum
}

// window has something asked and measures it beside the origin.
func (o *origin) window(name string, ask func() (requests float64, cpu time.Duration, err error)) (s sample, err error) {
	before, err := process.CPUTime(o.PID())
	if err != nil {
		return s, err
	}
	begun := time.Now()
	requests, cpu, err := ask()
	if err != nil {
		return s, fmt.Errorf("%s: %w", name, err)
	}
	took := time.Since(begun)
	after, err := process.CPUTime(o.PID())
	if err == nil && requests == 0 {
		err = fmt.Errorf("%s asked for nothing", name)
	}
	s = newSample(name, requests, took, cpu, after-before)
	return s, err
}

// watch measures a process over the window by its metrics. It also finds the most resident
// bytes and connections.
func (w *world) watch(ctx context.Context, name string, o *origin, p *child.Process, url string, count func(scrape.Metrics) float64) (sample, error) {
	var resident int64
	var now scrape.Metrics
	s, err := o.window(name, func() (float64, time.Duration, error) {
		before, err := scrape.Read(ctx, url)
		if err != nil {
			return 0, 0, err
		}
		used, err := process.CPUTime(p.PID())
		if err != nil {
			return 0, 0, err
		}
		for end := time.Now().Add(w.window); time.Until(end) > 0; {
			if err := pause(ctx, min(time.Second, time.Until(end))); err != nil {
				return 0, 0, err
			}
			bytes, err := process.Resident(p.PID())
			if err != nil {
				return 0, 0, err
			}
			resident = max(resident, bytes)
		}
		usedNow, err := process.CPUTime(p.PID())
		if err != nil {
			return 0, 0, err
		}
		now, err = scrape.Read(ctx, url)
		return count(now) - count(before), usedNow - used, err
	})
	s.Resident, s.Connections = resident, int(now.Sum(connectionsOpen))
	return s, err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", args...)
}
