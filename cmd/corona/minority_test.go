//go:build linux

package main

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/child"
)

func (n *severalNode) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := n.Process.Signal(s); err != nil {
		t.Fatalf("%s: %v", n.name, err)
	}
}

// suspend stops a node, and waits until each of its threads has stopped: one thread takes
// the signal, and the others go on until that one has run.
func (n *severalNode) suspend(t *testing.T) {
	t.Helper()
	n.signal(t, syscall.SIGSTOP)
	await(t, n.name+" is suspended", func() error {
		if !child.Stopped(n.Process.Pid) {
			return errors.New("it runs")
		}
		return nil
	})
}

// statusOf returns the status of a problem, 0 for another error or none.
func statusOf(err error) int {
	var problem *api.Problem
	if errors.As(err, &problem) {
		return problem.Status
	}
	return 0
}

// answersWithin is beyond the five seconds of the contract, which TestRow42 of packages
// ownership and server hold in virtual time: here the machine may be busy.
const answersWithin = 15 * time.Second

// TestMinorityOfProcesses: a node that led when it was suspended, and comes back to find
// the others suspended, answers reads and writes with 503, not with what was deleted
// meanwhile. When the others are back it knows of that.
func TestMinorityOfProcesses(t *testing.T) {
	t.Parallel()
	certs := makeCertificates(t, time.Now(), "n1", "n2", "n3")
	seats := []seat{newSeat(t, "n1", certs), newSeat(t, "n2", certs), newSeat(t, "n3", certs)}
	var nodes []*severalNode
	for _, s := range seats {
		nodes = append(nodes, serveSeveral(t, s, 3, seats...))
	}
	for _, n := range nodes {
		n.ready(t)
	}
	first, others := nodes[0], nodes[1:]
	origin := startOrigin(t)
	var led api.Range
	await(t, "a range that n1 leads", func() error {
		status, err := first.client.Status(t.Context())
		if err != nil {
			return err
		}
		i := slices.IndexFunc(status.Cluster.Ranges, func(r api.Range) bool { return r.Leader == "n1" })
		if i < 0 {
			return fmt.Errorf("ranges are %+v", status.Cluster.Ranges)
		}
		led = status.Cluster.Ranges[i]
		return nil
	})
	request := api.SubscribeRequest{Sink: api.Sink{Type: api.SinkSSE}}
	for i := 0; request.URL == ""; i++ {
		url := fmt.Sprintf("%s/%d", origin, i)
		if b := channel.IDOf(url).Bucket(); led.From <= b && b <= led.To {
			request.URL = url
		}
	}
	var made api.Subscription
	await(t, "a subscription", func() (err error) {
		made, err = first.client.Subscribe(t.Context(), request)
		return err
	})
	first.suspend(t)
	await(t, "the majority deletes it", func() error {
		err := others[0].client.Unsubscribe(t.Context(), made.ID)
		if statusOf(err) == http.StatusNotFound {
			return nil // the answer before was late
		}
		return err
	})
	for _, n := range others {
		n.suspend(t)
	}
	first.signal(t, syscall.SIGCONT)
	for range 2 {
		for what, call := range map[string]func() error{
			"read":  func() error { _, err := first.client.Subscription(t.Context(), made.ID); return err },
			"write": func() error { _, err := first.client.Subscribe(t.Context(), request); return err },
		} {
			began := time.Now()
			err := call()
			if took := time.Since(began); statusOf(err) != http.StatusServiceUnavailable || took > answersWithin {
				t.Errorf("%s at the minority: %v after %s", what, err, took)
			}
		}
	}
	if _, err := first.get("/healthz"); err != nil {
		t.Errorf("the minority does not live: %v", err)
	}
	if _, err := first.get("/readyz"); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("the minority is ready: %v", err)
	}
	for _, n := range others {
		n.signal(t, syscall.SIGCONT)
	}
	await(t, "n1 knows of the deletion", func() error {
		if _, err := first.client.Subscription(t.Context(), made.ID); statusOf(err) != http.StatusNotFound {
			return fmt.Errorf("it says %w", errors.Join(errors.New("something else than 404"), err))
		}
		return nil
	})
}
