//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/scrape"
	"github.com/seed-91e7e7c1/corona/internal/child"
	"github.com/seed-91e7e7c1/corona/internal/process"
)

// result is what the scenario found. Processor times are what count on a machine
// that is shared; what the node does in the background meanwhile is in its own.
type result struct {
	Channels      int                    `json:"channels"`
	Import        importResult           `json:"import"`
	Again         importResult           `json:"import_again"` // all of them there before
	ResidentBytes int64                  `json:"resident_bytes"`
	Channel       walkResult             `json:"walk_channels"`
	Subscription  walkResult             `json:"walk_subscriptions"`
	Export        exportResult           `json:"export"`
	Requests      map[string]timesResult `json:"requests"`
}

// importResult is what one import took.
type importResult struct {
	Seconds       float64 `json:"seconds"`
	PerS          float64 `json:"subscriptions_per_s"`
	NodeUs        float64 `json:"node_us_per_line"`
	ClientUs      float64 `json:"client_us_per_line"`
	ClientMaxRSS  int64   `json:"client_max_resident_bytes"`
	SaidAtTheEnd  string  `json:"said"`
	NodeHeapBytes float64 `json:"node_heap_bytes"` // in use, afterwards
}

// exportResult is what corona export of everything took.
type exportResult struct {
	Seconds      float64 `json:"seconds"`
	ClientUs     float64 `json:"client_us_per_line"`
	ClientMaxRSS int64   `json:"client_max_resident_bytes"`
}

// scenario is a running node.
type scenario struct {
	options
	binary, url string
	node        *child.Process
}

func run(ctx context.Context, o options) (r result, err error) {
	folder, err := os.MkdirTemp("", "corona-bulk-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(folder)
	s := &scenario{options: o}
	if err := s.start(ctx, folder); err != nil {
		return r, err
	}
	defer s.node.Close()
	r.Channels = o.channels
	if r.Import, err = s.importAll(ctx); err != nil {
		return r, err
	}
	if r.Again, err = s.importAll(ctx); err != nil {
		return r, err
	}
	if r.ResidentBytes, err = process.Resident(s.node.PID()); err != nil {
		return r, err
	}
	if r.Channel, err = s.walk(ctx, "/v1/channels"); err != nil {
		return r, err
	}
	if r.Subscription, err = s.walk(ctx, "/v1/subscriptions"); err != nil {
		return r, err
	}
	if r.Export, err = s.export(ctx); err != nil {
		return r, err
	}
	r.Requests, err = s.requests(ctx)
	return r, err
}

func (s *scenario) start(ctx context.Context, folder string) error {
	address, err := child.FreeAddress(ctx)
	if err != nil {
		return err
	}
	s.url = "http://" + address
	if s.binary, err = child.Build(ctx, folder); err != nil {
		return err
	}
	// A gap of an hour: each address has one poll, and nothing listens there.
	s.node, err = child.Begin(filepath.Join(folder, "node.log"), s.binary, "serve", "--data", filepath.Join(folder, "data"),
		"--listen", address, "--allow-private", "--interval", "5h", "--host-gap", "1h")
	if err != nil {
		return err
	}
	return child.AwaitURL(ctx, s.url+"/readyz", s.node)
}

// importAll runs corona import with a list of all URLs.
func (s *scenario) importAll(ctx context.Context) (r importResult, err error) {
	list, lines := io.Pipe()
	go func() { lines.CloseWithError(writeList(lines, s.channels)) }()
	defer list.Close()
	command := exec.CommandContext(ctx, s.binary, "import", "-", "--server", s.url)
	command.Stdin, command.Stderr = list, os.Stderr
	before, err := process.CPUTime(s.node.PID())
	if err != nil {
		return r, err
	}
	begun := time.Now()
	said, err := command.Output()
	if err != nil {
		return r, fmt.Errorf("import: %w", err)
	}
	took := time.Since(begun)
	after, err := process.CPUTime(s.node.PID())
	if err != nil {
		return r, err
	}
	client := command.ProcessState.UserTime() + command.ProcessState.SystemTime()
	r = importResult{
		Seconds: took.Seconds(), PerS: float64(s.channels) / took.Seconds(),
		NodeUs: s.perChannel(after - before), ClientUs: s.perChannel(client),
		ClientMaxRSS: maxResident(command.ProcessState), SaidAtTheEnd: string(said),
	}
	r.NodeHeapBytes, err = s.heap(ctx)
	return r, err
}

// export runs corona export and counts what it prints.
func (s *scenario) export(ctx context.Context) (r exportResult, err error) {
	command := exec.CommandContext(ctx, s.binary, "export", "--server", s.url)
	var lines lineCounter
	command.Stdout, command.Stderr = &lines, os.Stderr
	begun := time.Now()
	if err := command.Run(); err != nil {
		return r, fmt.Errorf("export: %w", err)
	}
	if int(lines) != s.channels {
		return r, fmt.Errorf("export: %d lines, want %d", lines, s.channels)
	}
	r.Seconds = time.Since(begun).Seconds()
	r.ClientUs = s.perChannel(command.ProcessState.UserTime() + command.ProcessState.SystemTime())
	r.ClientMaxRSS = maxResident(command.ProcessState)
	return r, nil
}

// lineCounter counts the lines that are written to it.
type lineCounter int

func (c *lineCounter) Write(p []byte) (int, error) {
	*c += lineCounter(bytes.Count(p, []byte("\n")))
	return len(p), nil
}

// perChannel is a time's share of a channel, in microseconds.
func (s *scenario) perChannel(d time.Duration) float64 {
	return float64(d.Nanoseconds()) / 1000 / float64(s.channels)
}

// writeList writes the URLs of all channels, one a line.
func writeList(w io.Writer, count int) error {
	buffered := bufio.NewWriter(w)
	for i := range count {
		fmt.Fprintln(buffered, urlOf(i))
	}
	return buffered.Flush()
}

// urlOf returns the URL of a channel, on one of a few loopback addresses.
func urlOf(i int) string {
	const hosts = 16
	return fmt.Sprintf("http://127.0.1.%d:9199/blogs/%d/posts.xml", i%hosts+1, i)
}

func (s *scenario) heap(ctx context.Context) (float64, error) {
	m, err := scrape.Read(ctx, s.url)
	if err != nil {
		return 0, err
	}
	return m.Sum("go_memstats_heap_inuse_bytes"), nil
}
