package corona_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
)

// TestStreamOfDeleted: a stream of a subscription ends when that is deleted, whichever
// node it is open at.
func TestStreamOfDeleted(t *testing.T) {
	nodes := openThree(t, time.Millisecond)
	id := subscribeAll(t, nodes[0], api.Sink{Type: "sse"}, "http://"+serveGrowing(t)+"/")[0]
	ended := make(chan error)
	ctx, cancel := context.WithTimeout(t.Context(), rigPatience)
	defer cancel()
	for _, n := range nodes {
		stream, err := n.Stream(ctx, api.StreamFilter{Subscriptions: []string{id}}, "")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			defer stream.Close()
			var err error
			for err == nil {
				_, err = stream.Next(ctx)
			}
			ended <- err
		}()
	}
	if err := nodes[1].Unsubscribe(ctx, id); err != nil {
		t.Error(err)
	}
	for range nodes {
		if err := <-ended; !errors.Is(err, io.EOF) {
			t.Errorf("the stream ended with %v, want io.EOF", err)
		}
	}
}
