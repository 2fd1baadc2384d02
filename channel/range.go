package channel

// Range is a run of buckets whose state one group of replicas keeps.
type Range struct {
	ID       uint32
	From, To Bucket // inclusive
}

// Has reports whether the range holds a bucket.
func (r Range) Has(b Bucket) bool { return r.From <= b && b <= r.To }

// Buckets returns how many buckets the range has.
func (r Range) Buckets() int64 { return int64(r.To) - int64(r.From) + 1 }
