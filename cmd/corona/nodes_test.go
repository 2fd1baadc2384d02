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
