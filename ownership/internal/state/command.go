package state

import (
	"fmt"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// Result is what applying a command returned to its proposer.
type Result struct {
	Err        error
	Subscribed []Subscribed // of a Subscribe, one per item
	Claims     []error      // of a Claim, one per item
}

// Subscribed is the outcome of one item of a Subscribe.
type Subscribed struct {
	Seq, CreatedUS, FromVersion uint64
	Existing                    bool // its key had made it before
	Deleted                     bool // and it has been deleted since
	Err                         error
}

// Limits that hold for what is stored, whoever proposed it.
const (
	maxSinkType   = 64
	maxSecret     = 1 << 10
	maxJudge      = 64 << 10
	maxLearned    = 256
	maxReason     = 64
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
	if len(c.Learned) > maxLearned {
		return fmt.Errorf("%w: learned, in %d bytes", ErrInvalid, len(c.Learned))
	}
	if err := checkHold(c.Hold, c.Held); err != nil {
		return err
	}
	return checkMoved(c.Moved)
}

// checkHold refuses a hold without a reason, a time or a candidate.
func checkHold(h *wire.Hold, held bool) error {
	if h == nil {
		return nil
	}
	if !held || h.SinceUs == 0 || h.Reason == "" || len(h.Reason) > maxReason {
		return fmt.Errorf("%w: hold since %d with a reason of %d bytes, candidate %v", ErrInvalid, h.SinceUs, len(h.Reason), held)
	}
	return nil
}

func checkForget(c *wire.Forget) error {
	if _, err := wireID(c.Channel); err != nil {
		return err
	}
	if len(c.Hash) != hashLen || len(c.Judge) == 0 || len(c.Judge) > maxJudge {
		return fmt.Errorf("%w: forget with a hash of %d bytes, judge of %d bytes", ErrInvalid, len(c.Hash), len(c.Judge))
	}
	return nil
}

// checkMoved refuses a time without a target, and a learned move without a time.
func checkMoved(m *wire.Moved) error {
	none, never := m.GetTo() == "", m.GetSinceUs() == 0
	switch {
	case len(m.GetTo()) > channel.MaxURL:
		return fmt.Errorf("%w: moved to a URL of %d bytes", ErrInvalid, len(m.GetTo()))
	case none && !never, m.GetLearned() && never:
		return fmt.Errorf("%w: moved to %q since %d, learned %v", ErrInvalid, m.GetTo(), m.GetSinceUs(), m.GetLearned())
	}
	return nil
}

func checkSetEndpoint(c *wire.SetEndpoint) error {
	for _, e := range []*wire.Endpoint{c.Endpoint, c.Was} {
		if e != nil && (len(e.State) > maxState || len(e.LastError) > maxErrorText) {
			return fmt.Errorf("%w: endpoint with too long a field", ErrInvalid)
		}
	}
	if c.Endpoint.GetUrl() == "" || len(c.Endpoint.Url) > channel.MaxURL || c.Was != nil && c.Was.Url != c.Endpoint.Url {
		return fmt.Errorf("%w: endpoint without URL, with too long a one, or made from another's", ErrInvalid)
	}
	return nil
}

const (
	hashLen   = 16
	digestLen = 16
)
