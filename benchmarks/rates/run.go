package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/internal/child"
	"github.com/seed-91e7e7c1/corona/loadgen/scrape"
)

// scenario is a running origin and node, and what is subscribed there.
type scenario struct {
	options
	origin, node  *child.Process
	originURL     string
	nodeURL       string
	client        *api.Client
	places        []place
	subscriptions []subscription
}

func run(ctx context.Context, o options) (r result, err error) {
	folder, err := os.MkdirTemp("", "corona-rates-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(folder)
	s := &scenario{options: o, places: layOut(o)}
	if err := s.start(ctx, folder); err != nil {
		return r, err
	}
	defer s.origin.Close()
	defer s.node.Close()
	defer s.client.Close()
	if err := s.measureAll(ctx, &r); err != nil {
		return r, err
	}
	return r, s.node.Stop()
}

// measureAll goes through the scenario's parts.
func (s *scenario) measureAll(ctx context.Context, r *result) (err error) {
	r.describe(s.options)
	if err := s.fill(ctx); err != nil {
		return err
	}
	logf("every channel has been polled; settling for %s", s.settle)
	if err := pause(ctx, s.settle); err != nil {
		return err
	}
	if r.Window, r.Rates, err = s.window(ctx, s.intervals); err != nil {
		return err
	}
	if r.Plan, err = s.check(ctx); err != nil {
		return err
	}
	if s.crowd > 1 {
		if r.Crowd, err = s.flash(ctx); err != nil {
			return err
		}
	}
	if s.leave > 0 {
		if r.Leave, err = s.desert(ctx); err != nil {
			return err
		}
	}
	r.judge(s.options)
	return nil
}

func (s *scenario) start(ctx context.Context, folder string) error {
	binary, err := child.Build(ctx, folder)
	if err != nil {
		return err
	}
	if err := s.startOrigin(ctx, folder, binary); err != nil {
		return err
	}
	if err := s.startNode(ctx, folder, binary); err != nil {
		return err
	}
	s.client, err = api.NewClient(s.nodeURL, nil)
	return err
}

// startOrigin also asks it for the URLs of the places.
func (s *scenario) startOrigin(ctx context.Context, folder, binary string) error {
	address, err := child.FreeAddress(ctx)
	if err != nil {
		return err
	}
	s.originURL = "http://" + address
	s.origin, err = child.Begin(filepath.Join(folder, "origin.log"), binary, "loadgen", "origin", "--listen", address,
		"--channels", strconv.Itoa(originChannels(s.places)), "--hosts", strconv.Itoa(s.hosts),
		"--seed", strconv.FormatUint(s.seed, 10), "--speedup", fmt.Sprint(s.speedup))
	if err != nil {
		return err
	}
	if err := child.AwaitURL(ctx, s.originURL+"/_channels", s.origin); err != nil {
		return err
	}
	list, err := get(ctx, s.originURL+"/_channels")
	if err != nil {
		return err
	}
	defer list.Body.Close()
	return name(s.places, list.Body)
}

func (s *scenario) startNode(ctx context.Context, folder, binary string) error {
	address, err := child.FreeAddress(ctx)
	if err != nil {
		return err
	}
	s.nodeURL = "http://" + address
	args := []string{
		"serve", "--data", filepath.Join(folder, "data"), "--listen", address, "--allow-private",
		"--interval", s.interval.String(), "--floor", s.floor.String(), "--host-gap", s.hostGap.String(),
		"--policy", s.policy, "--ladder", s.ladder, "--cost", s.cost, "--budget", s.budget, "--maintenance", s.maintenance.String(),
	}
	if s.target > 0 {
		args = append(args, "--target", s.target.String())
	}
	if s.node, err = child.Begin(filepath.Join(folder, "node.log"), binary, args...); err != nil {
		return err
	}
	return child.AwaitURL(ctx, s.nodeURL+"/readyz", s.node)
}

// firstPollsWithin bounds the time that the origin's documents may take.
const firstPollsWithin = 30 * time.Minute

// fill subscribes to every place and waits until each has been polled.
func (s *scenario) fill(ctx context.Context) error {
	if err := s.subscribeAll(ctx); err != nil {
		return err
	}
	logf("%d subscriptions to %d channels", len(s.subscriptions), s.channels)
	return child.Await(ctx, "first polls", firstPollsWithin, func() (bool, error) {
		m, err := scrape.Read(ctx, s.nodeURL)
		if err != nil {
			return false, err
		}
		have := m.Sum("corona_engine_polls_total", `outcome="changed"`)
		return have >= float64(s.channels) && m.Sum("corona_engine_strange_polls_in_flight") == 0, nil
	}, s.origin, s.node)
}

func get(ctx context.Context, url string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	return http.DefaultClient.Do(request)
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
