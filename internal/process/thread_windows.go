package process

import "time"

// Timed runs a function, and returns how long it took: an upper bound of its processor
// time.
func Timed(run func()) time.Duration {
	began := time.Now()
	run()
	return time.Since(began)
}
