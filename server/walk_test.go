package server_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/server"
)

// manyChannels is a node with a number of channels, which it makes as they are
// asked for.
type manyChannels struct {
	*fakeNode
	count uint64
}

func (n *manyChannels) Channels(_ context.Context, after *channel.ID, limit int) ([]api.Channel, error) {
	var first uint64
	if after != nil {
		first = binary.BigEndian.Uint64(after[:]) + 1
	}
	var page []api.Channel
	for i := first; i < min(first+uint64(limit), n.count); i++ {
		one := api.Channel{URL: fmt.Sprintf("https://example.com/%d", i), Owner: "fake"}
		binary.BigEndian.PutUint64(one.ID[:], i)
		page = append(page, one)
	}
	return page, nil
}

// A walk through a long list leaves nothing behind, in the server or the client.
func TestWalkIsConstantInMemory(t *testing.T) {
	const count = 50_000
	s, _ := newServer(t, &manyChannels{&fakeNode{}, count}, server.Config{})
	listener := listen(t)
	run(t, s, listener)
	client, err := api.NewClient("http://"+listener.Addr().String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var begin, most uint64
	i := 0
	for one, err := range client.Channels(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("https://example.com/%d", i); one.URL != want {
			t.Fatalf("channel %d is %s", i, one.URL)
		}
		if i++; i == 2500 {
			begin = liveHeap()
		} else if i%10_000 == 2500 {
			most = max(most, liveHeap())
		}
	}
	if i != count {
		t.Errorf("%d channels, want %d", i, count)
	}
	if grown := int64(most) - int64(begin); grown > 4<<20 {
		t.Errorf("memory grew by %d KiB", grown>>10)
	}
}
