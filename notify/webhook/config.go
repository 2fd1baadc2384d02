package webhook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// Config is what a [Deliverer] needs to know. The zero value of a field means its
// default.
type Config struct {
	// UserAgent is sent with every webhook; default "Corona".
	UserAgent string
	// AllowPrivate lets webhooks go to private and loopback addresses.
	AllowPrivate bool
	// Timeout bounds one webhook's whole exchange; default 30 s.
	Timeout time.Duration

	// EndpointParallel is how many requests one endpoint gets at a time; default 8.
	EndpointParallel int
	// Parallel is how many requests are under way in all that began less than a
	// second ago; default 512.
	Parallel int
	// SlowParallel is how many more are under way that took longer, and half as many again
	// try endpoints that do not work; default 1024.
	SlowParallel int
	// MaxLanes bounds the subscriptions that have a message in memory, waiting or
	// under way; default 32768. Others wait in the store.
	MaxLanes int

	// Ask asks the leader of the range with a bucket, on whichever node it is, for what
	// its [Deliverer.ServeAsk] answers; nil: this node leads all ranges.
	Ask func(ctx context.Context, b channel.Bucket, questions []byte) (answers []byte, err error)
}

// WithDefaults returns the configuration with its defaults decided.
func (c Config) WithDefaults() Config {
	c.UserAgent = cmp.Or(c.UserAgent, "Corona")
	c.Timeout = cmp.Or(c.Timeout, 30*time.Second)
	c.EndpointParallel = cmp.Or(c.EndpointParallel, 8)
	c.Parallel = cmp.Or(c.Parallel, 512)
	c.SlowParallel = cmp.Or(c.SlowParallel, 1024)
	c.MaxLanes = cmp.Or(c.MaxLanes, 32768)
	return c
}

// Validate returns what is wrong with a configuration whose defaults are decided.
func (c Config) Validate() error {
	var wrong []error
	if c.Timeout < 0 {
		wrong = append(wrong, fmt.Errorf("timeout %s: want more than 0", c.Timeout))
	}
	for name, n := range map[string]int{
		"requests of an endpoint": c.EndpointParallel, "requests": c.Parallel, "slow requests": c.SlowParallel,
		"subscriptions in memory": c.MaxLanes,
	} {
		if n < 1 {
			wrong = append(wrong, fmt.Errorf("most %s %d: want at least 1", name, n))
		}
	}
	return errors.Join(wrong...)
}

// limits bound memory and work; tests narrow them.
type limits struct {
	runnable int // channels in memory because a commit woke them; more cost a scan
	parked   int // notes of parked subscriptions; more cost a scan
	queue    int // lanes of one endpoint
	window   int // open offers of one pass
	changes  int // stragglers of one channel that wait to be written
	page     int // records read at a time
}

var defaultLimits = limits{runnable: 65536, parked: 1 << 20, queue: 1024, window: 2048, changes: 4096, page: 256}

const (
	workerCount = 4                      // workers, which read the store for passes
	batchDelay  = 100 * time.Millisecond // how long a position may wait to be saved
	slowAfter   = time.Second            // a request that takes longer is slow
	restAfter   = 5 * time.Second        // after a failure parked subscriptions wait so long
	retryStore  = time.Second            // pause after a failed call of the store
	stopTimeout = 2 * time.Second        // for the last positions
	cacheBytes  = 16 << 20               // of encoded updates kept for the next subscription
)
