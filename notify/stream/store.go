package stream

import (
	"context"

	"github.com/seed-91e7e7c1/corona/channel"
)

// Store is the replicated state that streams read. It is safe for concurrent use.
//
// A range that is split has other buckets than before: calls with those of before read nothing
// then, and fail until the caller has looked at the table. What it has closed stays
// closed, on every node and over restarts and changes of leader: it gives no update a
// stamp up to there any more. A stamp that an update of any range has is as good as
// closed: no range goes behind it when it starts again.
type Store interface {
	// Beginnings returns where streams of subscriptions begin, in their order; with exist only
	// whether they are missing, and their channels; then it returns beside an error those that it
	// could read. It sees what Since has returned.
	Beginnings(ctx context.Context, ids []string, exist bool) ([]channel.Beginning, error)

	// Table returns all ranges of the cluster, in the order of their buckets.
	Table() []channel.Range
	// ClosedIn returns the stamp up to which everything of a range is readable here,
	// and nothing more will come. It never falls, and stands still in an idle range
	// until a later stamp is demanded. It does not wait. Of a range that was split it is what
	// all its parts have closed.
	ClosedIn(r channel.Range) uint64
	// Since returns at most limit updates of a range behind a cursor, in the order of
	// (stamp, bucket), and the stamp up to which the range is closed: at least what
	// ClosedIn returned before. Unless there are more, it has all up to there. The error
	// is [channel.ErrTooOld] when some of them are no longer kept; any other may go.
	Since(ctx context.Context, r channel.Range, after channel.Cursor, limit int) (updates []channel.Update, closed uint64, more bool, err error)
	// SinceOf is Since of chosen channels, each of which is named once: others, and those that
	// do not exist, have nothing. It says which of them have lost updates behind the cursor, and
	// has no ErrTooOld.
	SinceOf(ctx context.Context, r channel.Range, chosen []channel.ID, after channel.Cursor, limit int) (channel.Kept, error)
	// Changed returns what is closed when a range has more to read than now, once
	// ClosedIn has come to it, or has closed a stamp that was demanded, or can be read
	// again.
	Changed(r channel.Range) <-chan struct{}
	// Demand asks a range to close a stamp soon. It does not wait.
	Demand(r channel.Range, stamp uint64)
}
