package ownership

import (
	"fmt"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// result is what applying a command returned to its proposer.
type result struct {
	err        error
	subscribed []subscribed // of a Subscribe, one per item
	claims     []error      // of a Claim, one per item
}

// subscribed is the outcome of one item of a Subscribe.
type subscribed struct {
	seq, createdUS, fromVersion uint64
	existing                    bool
	err                         error
}

// applied is the response of the state machine for one entry.
type applied struct {
	results []result // one per command
	err     error    // the state machine stopped
}

// decodeEntry reads an entry's commands. An error means damage, or a command of
// a newer version: either way the replica cannot go on.
func decodeEntry(data []byte) ([]*wire.Command, error) {
	entry := &wire.Entry{}
	if err := proto.Unmarshal(data, entry); err != nil {
		return nil, corrupt("log entry: %w", err)
	}
	for i, command := range entry.Commands {
		if command.Change == nil {
			return nil, fmt.Errorf("command %d of %d of a log entry is of a kind that this version does not know", i, len(entry.Commands))
		}
	}
	return entry.Commands, nil
}

// Limits that hold for what is stored, whoever proposed it.
const (
	maxSinkType   = 64
	maxSecret     = 1 << 10
	maxJudge      = 64 << 10
	maxErrorText  = 1 << 10
	maxState      = 64
	maxStragglers = 1 << 16 // in one command
)

func wireID(b []byte) (channel.ID, error) {
	if len(b) != channel.IDLen {
		return channel.ID{}, fmt.Errorf("%w: ID of %d bytes", ErrInvalid, len(b))
	}
	return channel.ID(b), nil
}

func wireBucket(b uint32) (channel.Bucket, error) {
	if b >= channel.Buckets {
		return 0, fmt.Errorf("%w: bucket %d", ErrInvalid, b)
	}
	return channel.Bucket(b), nil
}

func checkKeyed(key, digest []byte) error {
	if len(key) != channel.IDLen || len(digest) != digestLen {
		return fmt.Errorf("%w: key of %d bytes, digest of %d", ErrInvalid, len(key), len(digest))
	}
	return nil
}

func checkSubscribe(item *wire.Subscribe_Item) error {
	if _, err := wireID(item.Channel); err != nil {
		return err
	}
	switch {
	case item.Url == "" || len(item.Url) > channel.MaxURL:
		return fmt.Errorf("%w: URL of %d bytes", ErrInvalid, len(item.Url))
	case item.SinkType == "" || len(item.SinkType) > maxSinkType:
		return fmt.Errorf("%w: sink type of %d bytes", ErrInvalid, len(item.SinkType))
	case len(item.SinkUrl) > channel.MaxURL || len(item.SinkSecret) > maxSecret:
		return fmt.Errorf("%w: sink URL of %d bytes, secret of %d", ErrInvalid, len(item.SinkUrl), len(item.SinkSecret))
	case len(item.Key) > 0:
		return checkKeyed(item.Key, item.Digest)
	}
	return nil
}

func checkCommit(c *wire.Commit) error {
	if _, err := wireID(c.Channel); err != nil {
		return err
	}
	switch {
	case c.Version != c.Base && c.Version != c.Base+1:
		return fmt.Errorf("%w: version %d on base %d", ErrInvalid, c.Version, c.Base)
	case (c.Version > max(c.Base, 1)) != (len(c.Update) > 0):
		return fmt.Errorf("%w: update of %d bytes with version %d on base %d", ErrInvalid, len(c.Update), c.Version, c.Base)
	case len(c.Hash) != 0 && len(c.Hash) != hashLen || c.Kind > 0xFF || len(c.Judge) > maxJudge:
		return fmt.Errorf("%w: hash of %d bytes, kind %d, judge of %d bytes", ErrInvalid, len(c.Hash), c.Kind, len(c.Judge))
	}
	return nil
}

func checkEndpoint(e *wire.Endpoint) error {
	if e == nil || e.Url == "" || len(e.Url) > channel.MaxURL || len(e.State) > maxState || len(e.LastError) > maxErrorText {
		return fmt.Errorf("%w: endpoint without URL, or with too long a field", ErrInvalid)
	}
	return nil
}

const (
	hashLen   = 16
	digestLen = 16
)
