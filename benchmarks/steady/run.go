package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/child"
)

// scenario is a running origin and node.
type scenario struct {
	options
	origin, node *child.Process
	originURL    string
	nodeURL      string
	data         string
	binary       string
	nodeLog      string
}

func run(ctx context.Context, o options) (result, error) {
	folder, err := os.MkdirTemp(o.folder, "corona-steady-")
	if err != nil {
		return result{}, err
	}
	defer os.RemoveAll(folder)
	s := &scenario{options: o}
	if err := s.start(ctx, folder); err != nil {
		return result{}, err
	}
	defer s.origin.Close()
	defer func() { s.node.Close() }() // the last one
	return s.measureAll(ctx)
}

func (s *scenario) start(ctx context.Context, folder string) error {
	var err error
	if s.binary, err = child.Build(ctx, folder); err != nil {
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
	if s.origin, err = child.Begin(filepath.Join(folder, "origin.log"), s.binary, "loadgen", "origin", "--listen", origin,
		"--channels", strconv.Itoa(s.channels), "--hosts", strconv.Itoa(s.hosts),
		"--seed", strconv.FormatUint(s.seed, 10), "--speedup", fmt.Sprint(s.speedup)); err != nil {
		return err
	}
	s.nodeLog = filepath.Join(folder, "node.log")
	if err := s.startNode(cmp.Or(s.fillInterval, s.interval)); err != nil {
		return err
	}
	if err := child.AwaitURL(ctx, s.nodeURL+"/readyz", s.node); err != nil {
		return err
	}
	return child.AwaitURL(ctx, s.originURL+"/_channels", s.origin)
}

// startNode starts the node on its data directory with an interval.
func (s *scenario) startNode(interval time.Duration) error {
	args := []string{
		"serve", "--data", s.data, "--listen", strings.TrimPrefix(s.nodeURL, "http://"), "--allow-private", "--interval", interval.String(),
	}
	if s.floor > 0 {
		args = append(args, "--floor", s.floor.String())
	}
	node, err := child.Begin(s.nodeLog, s.binary, args...)
	if err == nil {
		s.node = node
	}
	return err
}

// paceUp restarts the node with the interval that is measured, if it was filled
// at another one.
func (s *scenario) paceUp(ctx context.Context) error {
	if s.fillInterval == 0 || s.fillInterval == s.interval {
		return nil
	}
	if err := errors.Join(s.node.Stop(), s.node.Close()); err != nil {
		return err
	}
	if err := s.startNode(s.interval); err != nil {
		return err
	}
	return child.AwaitURL(ctx, s.nodeURL+"/readyz", s.node)
}

func (s *scenario) measureAll(ctx context.Context) (r result, err error) {
	r = result{Channels: s.channels, Hosts: s.hosts, IntervalS: s.interval.Seconds(), FloorS: s.floor.Seconds(), Speedup: s.speedup}
	if err := s.fill(ctx, &r); err != nil {
		return r, err
	}
	if err := s.paceUp(ctx); err != nil {
		return r, err
	}
	logf("every channel has been polled; settling for %s", s.settle)
	if err := pause(ctx, s.settle); err != nil {
		return r, err
	}
	if r.Window, err = s.window(ctx); err != nil {
		return r, err
	}
	if err := s.profileCPU(ctx); err != nil {
		return r, err
	}
	if r.Memory, err = s.memory(ctx); err != nil {
		return r, err
	}
	if r.Disk, err = s.disk(); err != nil {
		return r, err
	}
	if !s.restart {
		return r, s.node.Stop()
	}
	if r.Restart, err = s.restartAll(ctx); err != nil {
		return r, err
	}
	return r, s.node.Stop()
}

// fill imports every channel and waits until each has been polled.
func (s *scenario) fill(ctx context.Context, r *result) error {
	before, err := s.read(ctx)
	if err != nil {
		return err
	}
	if err := s.subscribeAll(ctx); err != nil {
		return err
	}
	imported := time.Now()
	r.ImportS = imported.Sub(before.at).Seconds()
	if r.FirstPollRSS, err = s.awaitFirstPolls(ctx); err != nil {
		return err
	}
	after, err := s.read(ctx)
	if err != nil {
		return err
	}
	r.FirstPollsS = after.at.Sub(imported).Seconds()
	processor := after.node.Since(before.node).Sum("process_cpu_seconds_total")
	r.FirstPollCPUUs = 1e6 * processor / float64(s.channels)
	return nil
}

// subscribeAll has corona import take what the origin lists.
func (s *scenario) subscribeAll(ctx context.Context) error {
	response, err := get(ctx, s.originURL+"/_channels")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	command := exec.CommandContext(ctx, s.binary, "import", "-", "--server", s.nodeURL)
	command.Stdin = response.Body
	text, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("import: %w: %s", err, text)
	}
	logf("%s", bytes.TrimSpace(text))
	return nil
}

// firstPollsWithin bounds the time that the origin's documents may take.
const firstPollsWithin = time.Hour

// awaitFirstPolls returns the most memory that was seen meanwhile.
func (s *scenario) awaitFirstPolls(ctx context.Context) (most int64, err error) {
	told := time.Now()
	err = child.Await(ctx, "first polls", firstPollsWithin, func() (bool, error) {
		r, err := s.read(ctx)
		if err != nil {
			return false, err
		}
		most = max(most, r.resident)
		have := r.node.Sum("corona_engine_polls_total", `outcome="changed"`)
		if time.Since(told) > 30*time.Second {
			told = time.Now()
			logf("%.0f channels have content, %d MB", have, r.resident>>20)
		}
		// Some channels have changed a second time before others were polled at all.
		return have >= float64(s.channels) && r.node.Sum("corona_engine_strange_polls_in_flight") == 0, nil
	}, s.origin, s.node)
	return most, err
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
