package channels

import (
	"fmt"
	"iter"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
)

// dial returns a client, which the caller closes, and the IDs of the channels that the
// command line names, in their order.
func dial(flags *cli.NodeFlags, names []string) (*api.Client, []channel.ID, error) {
	ids, err := cli.ParseChannels(names)
	if err != nil {
		return nil, nil, err
	}
	client, err := flags.Client()
	return client, ids, err
}

// each yields what call returns for each named channel, in their order. Errors name the
// channel.
func each[T any](names []string, ids []channel.ID, call func(channel.ID) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for i, id := range ids {
			result, err := call(id)
			if err != nil {
				err = fmt.Errorf("%s: %w", names[i], err)
			}
			if !yield(result, err) {
				return
			}
		}
	}
}
