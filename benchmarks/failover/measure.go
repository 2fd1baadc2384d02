//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/benchmarks/internal/cluster"
	"github.com/seed-91e7e7c1/corona/benchmarks/internal/diskfault"
	"github.com/seed-91e7e7c1/corona/internal/child"
)

const (
	writeEvery  = 200 * time.Millisecond // of each range
	writeWithin = 6 * time.Second        // 503 is promised within 5 s
	answerMost  = 4 << 10                // bytes
	giveUpAfter = 60 * time.Second
	wellWithin  = 60 * time.Second
	apartMost   = 2 * time.Second // of a random time between faults
	stall       = 15 * time.Second
	noOrigin    = "http://" + cluster.Host + ":9100/" // of the channels: nothing listens there
)

// run is one cluster that is measured.
type run struct {
	cluster *cluster.Cluster
	folder  string
	random  *rand.Rand
	client  *http.Client
	urls    []string // a channel of each range
}

// measure inflicts each kind of fault as often as was asked for, and returns the times.
func (o *options) measure(ctx context.Context, program, folder string) (results [][]time.Duration, err error) {
	r := &run{folder: folder, random: rand.New(rand.NewPCG(o.seed, 0)), client: &http.Client{Timeout: writeWithin}}
	r.cluster, err = cluster.New(ctx, cluster.Config{Program: program, Folder: folder,
		Args: []string{"--interval", "1h", "--disk-reserve", fmt.Sprint(64 << 20)}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.cluster.Close()) }()
	if err := r.cluster.Start(ctx); err != nil {
		return nil, err
	}
	status, err := r.cluster.Nodes[0].Status(ctx)
	if err != nil {
		return nil, err
	}
	for _, of := range status.Cluster.Ranges {
		url, _ := cluster.ChannelIn(of, noOrigin)
		r.urls = append(r.urls, url)
	}
	results = make([][]time.Duration, len(kinds))
	for i, k := range kinds {
		for n := range o.counts[i] {
			took, err := r.once(ctx, k.name)
			if err != nil {
				return nil, fmt.Errorf("%s %d: %w", k.name, n+1, err)
			}
			results[i] = append(results[i], took)
		}
	}
	return results, nil
}

// once waits until all is well, inflicts a fault, measures, and mends.
func (r *run) once(ctx context.Context, kind string) (took time.Duration, err error) {
	victim, err := r.wellAgain(ctx)
	if err != nil {
		return 0, err
	}
	pause(ctx, time.Duration(r.random.Int64N(int64(apartMost))))
	left := make([]*cluster.Node, 0, len(r.cluster.Nodes))
	for _, node := range r.cluster.Nodes {
		if node != victim || kind == "all" {
			left = append(left, node)
		}
	}
	from := time.Now()
	mend, err := r.inflict(ctx, kind, victim)
	if err != nil {
		return 0, err
	}
	last, took, err := r.writable(ctx, left, from)
	fmt.Printf("%-6s %s: %s, the last at %s\n", kind, victim.Name, took.Round(time.Millisecond), last)
	return took, errors.Join(err, mend())
}

// inflict lets a fault begin, and returns what ends it.
func (r *run) inflict(ctx context.Context, kind string, victim *cluster.Node) (mend func() error, err error) {
	switch kind {
	case "kill":
		return victim.Start, victim.Kill()
	case "pause":
		return victim.Resume, victim.Pause()
	case "cut":
		for _, node := range r.cluster.Nodes {
			if node != victim {
				err = errors.Join(err, r.cluster.Cut(node, victim), r.cluster.Cut(victim, node))
			}
		}
		return r.cluster.HealAll, err
	case "stall":
		return r.stall(ctx, victim)
	}
	for _, node := range r.cluster.Nodes {
		err = errors.Join(err, node.Kill())
	}
	for _, node := range r.cluster.Nodes {
		err = errors.Join(err, node.Start())
	}
	return func() error { return nil }, err
}

// stall makes a node's syncs wait. The node ends by itself if that takes too long.
func (r *run) stall(ctx context.Context, victim *cluster.Node) (mend func() error, err error) {
	tracer, err := diskfault.Attach(ctx, victim.PID(), victim.Data, filepath.Join(r.folder, "strace.log"), diskfault.SlowSync(stall))
	if err != nil {
		return nil, err
	}
	return func() error {
		_, err := tracer.Detach()
		if _, ended := victim.AwaitEnd(ctx, time.Second); ended && err == nil {
			return victim.Start()
		}
		return err
	}, nil
}

// wellAgain waits until every node is ready and leads a range, and returns one of them.
func (r *run) wellAgain(ctx context.Context) (victim *cluster.Node, err error) {
	err = child.Await(ctx, "every node to be ready and to lead", wellWithin, func() (bool, error) {
		leads := make(map[string]int)
		for _, node := range r.cluster.Nodes {
			if _, ended := node.Ended(); ended { // by its disk, a little later
				return false, node.Start()
			}
			if !node.Ready(ctx) {
				return false, nil
			}
			status, err := node.Status(ctx)
			if err != nil {
				return false, nil
			}
			for _, of := range status.Cluster.Ranges {
				leads[of.Leader]++
			}
		}
		return len(leads) == len(r.cluster.Nodes) && leads[""] == 0, nil
	})
	return r.cluster.Nodes[r.random.IntN(len(r.cluster.Nodes))], err
}

// writable writes to each range until that is acknowledged, and returns how long after
// the fault the last of them was, and where.
func (r *run) writable(ctx context.Context, left []*cluster.Node, from time.Time) (last string, took time.Duration, err error) {
	var mu sync.Mutex
	var writers sync.WaitGroup
	for number, url := range r.urls {
		writers.Go(func() {
			at, failed := r.untilWritten(ctx, left, url, from)
			mu.Lock()
			defer mu.Unlock()
			if failed != nil && err == nil {
				err = fmt.Errorf("no write to range %d for %s: %w", number, giveUpAfter, failed)
			}
			if at > took {
				last, took = fmt.Sprintf("range %d", number), at
			}
		})
	}
	writers.Wait()
	return last, took, errors.Join(err, ctx.Err())
}

// untilWritten begins a write after the other, by turns at the nodes that are left, until
// one is acknowledged. The error is the last one of a write.
func (r *run) untilWritten(ctx context.Context, left []*cluster.Node, url string, from time.Time) (at time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, giveUpAfter)
	acked := make(chan time.Duration, 1)
	failed := make(chan error, 1)
	var writes sync.WaitGroup
	defer writes.Wait()
	defer cancel()
	ticker := time.NewTicker(writeEvery)
	defer ticker.Stop()
	err = errors.New("no answer")
	for n := 0; ; n++ {
		writes.Go(func() {
			if err := r.write(ctx, left[n%len(left)], url); err == nil {
				sendFirst(acked, time.Since(from))
			} else {
				sendFirst(failed, err)
			}
		})
		select {
		case at = <-acked:
			return at, nil
		case <-ctx.Done():
			return time.Since(from), err
		case <-ticker.C:
		}
		select {
		case err = <-failed:
		default:
		}
	}
}

// sendFirst sends a value unless one waits to be taken.
func sendFirst[T any](to chan T, value T) {
	select {
	case to <- value:
	default:
	}
}

// write subscribes once, without a key.
func (r *run) write(ctx context.Context, node *cluster.Node, url string) error {
	body, err := json.Marshal(api.SubscribeRequest{URL: url, Sink: api.Sink{Type: api.SinkSSE}})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, node.API+"/v1/subscriptions", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := r.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, answerMost)) // whole, so that the connection is used again
	if err != nil || response.StatusCode != http.StatusCreated {
		return fmt.Errorf("%s: %s: %s", node.Name, response.Status, bytes.TrimSpace(answer))
	}
	return nil
}

// pause waits, or returns when the context ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
