package ownership

import (
	"sync"

	"github.com/seed-91e7e7c1/corona/channel"
)

// damagedBuckets are where the last scrub found some.
type damagedBuckets struct {
	mu      sync.Mutex
	buckets map[channel.Bucket]bool
}

func (d *damagedBuckets) found(b channel.Bucket) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.buckets == nil {
		d.buckets = make(map[channel.Bucket]bool)
	}
	d.buckets[b] = true
}

// mended notes that a bucket was read whole: its state may have come from another replica.
func (d *damagedBuckets) mended(b channel.Bucket) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.buckets, b)
}

// count returns how many buckets are damaged.
func (d *damagedBuckets) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.buckets)
}
