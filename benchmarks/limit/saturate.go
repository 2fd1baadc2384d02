package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/seed-91e7e7c1/corona/internal/process"
)

// still is the origin's speedup where nothing is to change.
const still = 0.001

// settle is how long a node goes on before its window, after it was suspended.
const settle = 2 * time.Second

// planInterval is the node's polling interval. The budget, not this, says how often it polls.
const planInterval = 10 * time.Second

// target is a channel as everything but the node asks for it.
type target struct {
	host, path     string
	etag, modified string
}

// field is what saturation runs on.
type field struct {
	*world
	origin  *origin
	node    *node
	hosts   []string
	targets [][]target // by host
	loop    *loop
	rate    float64            // of the node in its last window
	delays  map[string]float64 // of paced wrks, milliseconds between an answer and the next request
}

// contestant is one that takes turns.
type contestant struct {
	name, kind string
	paced      bool
	measure    func(ctx context.Context, c *contestant) (sample, error)
}

// saturate measures the rounds. The node has the first turn: its rate paces others.
func (w *world) saturate(ctx context.Context, r *result) (err error) {
	f := &field{world: w, delays: make(map[string]float64)}
	if f.origin, err = w.startOrigin(ctx, w.channels, still); err != nil {
		return err
	}
	defer f.origin.Close()
	if f.hosts, err = f.origin.addresses(w.hosts); err != nil {
		return err
	}
	budget := strconv.FormatFloat(w.rate*planInterval.Seconds(), 'f', 0, 64)
	f.node, err = w.startNode(ctx, f.origin.urls, "--interval", planInterval.String(), "--floor", "1ms", "--budget", budget)
	if err != nil {
		return err
	}
	defer f.node.Close()
	if err := errors.Join(f.node.Pause(), f.readTargets()); err != nil {
		return err
	}
	f.loop = newLoop(f)
	contestants, err := f.contestants(r)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(w.seed, 0))
	for round := range w.rounds {
		if round > 0 {
			random.Shuffle(len(contestants), func(i, j int) { contestants[i], contestants[j] = contestants[j], contestants[i] })
		}
		for i := range contestants {
			s, err := contestants[i].measure(ctx, &contestants[i])
			if err != nil {
				return err
			}
			s.Kind, s.Round = contestants[i].kind, round+1
			r.Samples = append(r.Samples, s)
			logf("round %d of %d: %s", round+1, w.rounds, s)
		}
	}
	r.judgeSaturation()
	return nil
}

func (f *field) contestants(r *result) ([]contestant, error) {
	all := []contestant{
		{"node", kindNode, false, f.turnOfNode},
		{"loop", kindLoop, false, f.turnOfLoop},
		{"loop paced", kindLoop, true, f.turnOfLoop},
	}
	missing, err := f.missing("wrk", r)
	if err != nil || missing {
		return all, err
	}
	shared, single := f.turnOfWrk(f.hosts), f.turnOfWrk(f.hosts[:1])
	if err := f.writeScripts(); err != nil {
		return all, err
	}
	return append(all,
		contestant{"wrk", kindWrk, false, shared},
		contestant{"wrk paced", kindWrk, true, shared},
		contestant{"wrk 1 thread", kindWrk, false, single},
		contestant{"wrk 1 thread paced", kindWrk, true, single}), nil
}

// turnOfNode lets the node go on for a turn.
func (f *field) turnOfNode(ctx context.Context, c *contestant) (sample, error) {
	if err := f.node.Resume(); err != nil {
		return sample{}, err
	}
	if err := pause(ctx, settle); err != nil {
		return sample{}, err
	}
	s, err := f.watch(ctx, c.name, f.origin, f.node.Process, f.node.url, answered)
	f.rate = s.Rate
	return s, errors.Join(err, f.node.Pause())
}

// readTargets asks for every channel once, for its validators.
func (f *field) readTargets() error {
	client := &fasthttp.Client{ReadTimeout: answerWithin}
	defer client.CloseIdleConnections()
	request, response := new(fasthttp.Request), new(fasthttp.Response)
	f.targets = make([][]target, len(f.hosts))
	for i, address := range f.origin.urls {
		u, err := url.Parse(address)
		if err != nil {
			return err
		}
		request.SetRequestURI(address)
		request.Header.Set("Accept-Encoding", encodings)
		if err := client.Do(request, response); err != nil {
			return err
		}
		h := i % len(f.hosts)
		f.targets[h] = append(f.targets[h], target{u.Host, u.Path,
			string(response.Header.Peek("ETag")), string(response.Header.Peek("Last-Modified"))})
	}
	return nil
}

// turnOfLoop has this process ask.
func (f *field) turnOfLoop(ctx context.Context, c *contestant) (sample, error) {
	gap := time.Duration(0)
	if c.paced {
		gap = time.Duration(float64(len(f.hosts)*f.perHost) / f.rate * float64(time.Second))
	}
	s, err := f.origin.window(c.name, func() (float64, time.Duration, error) {
		before, err := process.CPUTime(os.Getpid())
		if err != nil {
			return 0, 0, err
		}
		requests, err := f.loop.run(ctx, f.window, gap)
		if err != nil {
			return 0, 0, err
		}
		after, err := process.CPUTime(os.Getpid())
		return float64(requests), after - before, err
	})
	s.Connections = len(f.hosts) * f.perHost
	return s, err
}
