package corona

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/ownership"
	"github.com/seed-91e7e7c1/corona/ownership/backup"
)

// Backup writes all that the cluster has acknowledged, each range as it is at one
// instant, while it goes on. The file holds the secrets of webhooks.
func (n *Node) Backup(ctx context.Context, to io.Writer) error {
	return problem(n.store.Backup(ctx, to, n.config.Version))
}

// Restore makes a fresh cluster what a backup holds.
func (n *Node) Restore(ctx context.Context, from io.Reader) (*api.Restored, error) {
	summary, err := n.store.Restore(ctx, from)
	if errors.Is(err, ownership.ErrRestoring) {
		return nil, api.NewProblem(http.StatusConflict, err.Error())
	}
	if err != nil {
		return nil, problem(err)
	}
	n.volume.Protect()
	return restoredView(summary), nil
}

// restoredView is what the API says of a backup.
func restoredView(s backup.Summary) *api.Restored {
	return &api.Restored{
		Cluster: s.Cluster, Begun: s.Begun, Program: s.Program, Ranges: s.Ranges, Channels: s.Channels, Subscriptions: s.Subscriptions,
		Updates: s.Updates, Endpoints: s.Endpoints, Positions: s.Positions, Keys: s.Keys, Records: s.Records, Bytes: s.Bytes,
	}
}
