package peer

// Lane is one of the connections between two nodes.
type Lane string

// The lanes. Their names are spoken in TLS (ALPN) and in the hello.
const (
	Control Lane = "corona/control/1" // heartbeats, votes, confirmations, pings: prompt and small
	Log     Lane = "corona/log/1"     // log entries and other calls
	bulk    Lane = "corona/bulk/1"    // streams
)

var lanes = []Lane{Control, Log, bulk}

// limits bound what a lane takes.
type limits struct {
	payload int // bytes of one call's or reply's
	queued  int // bytes of frames that wait to be written; more wait outside
	calls   int // handlers under way for one connection; with more it is not read
}

func (l Lane) limits() limits {
	if l == Control {
		return limits{payload: 64 << 10, queued: 4 << 20, calls: 4096}
	}
	return limits{payload: MaxPayload, queued: 2 * MaxPayload, calls: 1024}
}

// MaxPayload is the most bytes of a payload in the lane [Log].
const MaxPayload = 16 << 20
