package main

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/seed-91e7e7c1/corona/api"
)

// TestNodesJoinAndLeave: the node of a cluster of one is joined by three others; one of four
// is drained, stopped and removed, and all that was acknowledged is there.
func TestNodesJoinAndLeave(t *testing.T) {
	t.Parallel()
	var seats []seat
	for i := range 4 {
		seats = append(seats, newSeat(t, fmt.Sprint("n", i+1), ""))
	}
	first := serveSeveral(t, seats[0], 1)
	first.ready(t)
	const url = "http://127.0.0.1:8499/feed"
	if _, err := first.client.Subscribe(t.Context(), api.SubscribeRequest{URL: url, Sink: api.Sink{Type: "sse"}}); err != nil {
		t.Fatal(err)
	}
	nodes := []*severalNode{first}
	for _, s := range seats[1:] {
		n := serveSeveral(t, s, 0, seats[0])
		n.ready(t)
		nodes = append(nodes, n)
	}
	replicas := func(at *severalNode, want map[string]int) {
		t.Helper()
		await(t, "replicas in their places", func() error {
			have, err := at.client.Nodes(t.Context())
			for _, n := range have.Nodes {
				if n.Replicas != want[n.Name] {
					err = errors.Join(err, fmt.Errorf("%s is %s and has %d, want %d", n.Name, n.State, n.Replicas, want[n.Name]))
				}
			}
			if err == nil && len(have.Nodes) != len(want) {
				err = fmt.Errorf("%d nodes, want %d", len(have.Nodes), len(want))
			}
			return err
		})
	}
	replicas(nodes[3], map[string]int{"n1": 3, "n2": 3, "n3": 3, "n4": 3})
	if err := nodes[3].client.DrainNode(t.Context(), "n1"); err != nil {
		t.Fatal(err)
	}
	var problem *api.Problem
	if err := nodes[3].client.DrainNode(t.Context(), "n2"); !errors.As(err, &problem) || problem.Status != http.StatusConflict || !strings.Contains(problem.Detail, "range ") {
		t.Errorf("a second drain: %v", err)
	}
	replicas(nodes[3], map[string]int{"n1": 0, "n2": 4, "n3": 4, "n4": 4})
	first.stop(t)
	if err := nodes[1].client.RemoveNode(t.Context(), "n1"); err != nil {
		t.Fatal(err)
	}
	replicas(nodes[2], map[string]int{"n2": 4, "n3": 4, "n4": 4})
	status, err := nodes[2].client.Status(t.Context())
	if err != nil || status.Subscriptions != 1 || len(status.Cluster.Members) != 3 {
		t.Errorf("%d subscriptions, %d members, %v; want 1 and 3", status.Subscriptions, len(status.Cluster.Members), err)
	}
}

// TestRecover: two of three nodes are gone for good. What would be lost is said first, and nothing
// done; then the node that is left goes on with what it has, and says for ever what was given up.
func TestRecover(t *testing.T) {
	t.Parallel()
	var seats []seat
	for i := range 3 {
		seats = append(seats, newSeat(t, fmt.Sprint("n", i+1), ""))
	}
	var nodes []*severalNode
	for _, s := range seats {
		nodes = append(nodes, serveSeveral(t, s, 3, seats...))
	}
	for _, n := range nodes {
		n.ready(t)
	}
	first := nodes[0]
	subscribe := func(url string) error {
		_, err := first.client.Subscribe(t.Context(), api.SubscribeRequest{URL: url, Sink: api.Sink{Type: "sse"}})
		return err
	}
	for i := range 10 {
		if err := subscribe(fmt.Sprintf("http://127.0.0.1:8499/%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	run := func(want string, args ...string) {
		t.Helper()
		await(t, strings.Join(args, " "), func() error {
			got := runCorona(t.Context(), "", append(args, "--server", first.url())...)
			if got.Code != 0 || !strings.Contains(got.Out, want) {
				return fmt.Errorf("exit code %d, it printed %q and %q, want %q", got.Code, got.Out, got.Errs, want)
			}
			return nil
		})
	}
	run("leads", "nodes")
	refused := runCorona(t.Context(), "", "nodes", "recover", "--range", "0", "--yes", "--server", first.url())
	if refused.Code != 3 || !strings.Contains(refused.Errs, "majority") {
		t.Errorf("a recovery of a range that has its majority: exit code %d, %s", refused.Code, refused.Errs)
	}
	for _, n := range nodes[1:] {
		n.stop(t)
	}
	run("may be lost: what only n2, n3 had", "nodes", "recover", "--meta")
	run("nothing was done: --yes does it", "nodes", "recover", "--meta")
	run("range 0: no majority; 1 replica left\n  n1: up to entry ", "nodes", "recover", "--range", "all")
	var problem *api.Problem
	if err := subscribe("http://127.0.0.1:8499/refused"); !errors.As(err, &problem) || problem.Status != http.StatusServiceUnavailable {
		t.Errorf("a subscription while most nodes are gone, and nothing is recovered: %v", err)
	}
	run("recovered the meta group from n1", "nodes", "recover", "--meta", "--yes")
	run("range 3", "nodes", "recover", "--range", "all", "--yes")
	await(t, "a subscription", func() error { return subscribe("http://127.0.0.1:8499/after") })
	await(t, "all subscriptions", func() error {
		status, err := first.client.Status(t.Context())
		if err == nil && status.Subscriptions != 11 {
			err = fmt.Errorf("%d, want 11", status.Subscriptions)
		}
		return err
	})
	first.stop(t)
	first = serveSeveral(t, seats[0], 0)
	first.ready(t)
	run("the meta group from n1", "nodes")
	run("; given up: n2, n3\n", "nodes")
}
