package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-91e7e7c1/corona"
	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/server"
)

// serveBehind opens a node of three in this process, whose clock is off, and serves its
// API. It ends with the test.
func serveBehind(t *testing.T, s seat, off time.Duration, others []seat) error {
	config := corona.Config{
		Data: s.data, Name: s.name, Ranges: 4, DiskReserve: 4 << 20, Registry: prometheus.NewRegistry(),
		Now:     func() time.Time { return time.Now().Add(off) },
		Cluster: corona.ClusterConfig{Address: s.cluster(), Gossip: s.gossip(), BootstrapExpect: len(others)},
	}
	for _, other := range others {
		config.Cluster.Join = append(config.Cluster.Join, other.gossip())
	}
	listener, err := net.Listen("tcp", s.host+":8410")
	if err != nil {
		return err
	}
	node, err := corona.Open(t.Context(), config)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	front, err := server.New(server.Config{}, node, config.Registry)
	if err != nil {
		return errors.Join(err, listener.Close(), node.Close())
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := errors.Join(front.Run(ctx, listener), node.Close()); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
	})
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	return nil
}

// anHour is what /readyz says; the offset is measured to within half of a round trip.
var anHour = regexp.MustCompile(`the clock is (59m5\d|1h0m\d)[\d.]*s ahead`)

// TestClockAnHourOff: a node whose clock is an hour off leads nothing, its /readyz says
// why, and the others serve without it.
func TestClockAnHourOff(t *testing.T) {
	t.Parallel()
	seats := []seat{newSeat(t, "n1", ""), newSeat(t, "n2", ""), newSeat(t, "n3", "")}
	off := map[string]time.Duration{"n3": time.Hour}
	var opening sync.WaitGroup
	for _, s := range seats {
		opening.Go(func() {
			if err := serveBehind(t, s, off[s.name], seats); err != nil {
				t.Errorf("%s: %v", s.name, err)
			}
		})
	}
	if opening.Wait(); t.Failed() {
		t.FailNow()
	}
	client, err := api.NewClient(seats[0].url(), nil)
	if err != nil {
		t.Fatal(err)
	}
	await(t, "n3 leads nothing, and says why", func() error {
		_, err := get(seats[2].url() + "/readyz")
		if err == nil || !strings.Contains(err.Error(), "503") || !anHour.MatchString(err.Error()) {
			return fmt.Errorf("/readyz says %w", errors.Join(errors.New("of n3:"), err))
		}
		status, err := client.Status(t.Context())
		if err != nil {
			return err
		}
		for _, r := range status.Cluster.Ranges {
			if r.Leader != "n1" && r.Leader != "n2" {
				return fmt.Errorf("range %d is led by %q", r.ID, r.Leader)
			}
		}
		return nil
	})
	for _, s := range seats[:2] {
		await(t, s.name+" serves", func() error { _, err := get(s.url() + "/readyz"); return err })
	}
}
