package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/internal/child"
)

// contact is what the node tells publishers.
const contact = "https://corona.example/about"

// node is the program under test.
type node struct {
	*child.Process
	url    string
	client *api.Client
}

// startNode starts a node with nothing in its folder and waits until it serves.
func startNode(ctx context.Context, o options, folder string) (*node, error) {
	address, err := child.OwnAddress(ctx)
	if err != nil {
		return nil, err
	}
	n := &node{url: "http://" + address}
	if n.client, err = api.NewClient(n.url, nil); err != nil {
		return nil, err
	}
	n.Process, err = child.Begin(filepath.Join(folder, "node.log"), o.program, "serve",
		"--data", filepath.Join(folder, "data"), "--listen", address, "--allow-private", "--contact", contact,
		"--interval", o.interval.String(), "--floor", o.floor.String(),
		"--host-gap", o.gap.String(), "--host-parallel", fmt.Sprint(o.parallel))
	if err != nil {
		return nil, err
	}
	return n, child.AwaitURL(ctx, n.url+"/readyz", n.Process)
}

// subscribe subscribes to every URL.
func (n *node) subscribe(ctx context.Context, urls []string) error {
	requests := func(yield func(api.SubscribeRequest) bool) {
		for _, url := range urls {
			if !yield(api.SubscribeRequest{URL: url, Sink: api.Sink{Type: api.SinkSSE}}) {
				return
			}
		}
	}
	made := 0
	for answer, err := range n.client.Batch(ctx, requests) {
		if err != nil {
			return fmt.Errorf("subscribe: %w", err)
		}
		if answer.Error != nil {
			return fmt.Errorf("subscribe: %w", answer.Error)
		}
		made++
	}
	if made != len(urls) {
		return fmt.Errorf("subscribe: %d answers to %d requests", made, len(urls))
	}
	return nil
}
