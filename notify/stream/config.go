package stream

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// Config is what a [Hub] needs to know. The zero value of a field means its default.
type Config struct {
	// Epoch is the cluster's identity as cursors carry it: a cursor of another
	// epoch gets a reset. Required.
	Epoch uint64
	// TailBytes bounds the newest events kept in memory; default 8 MiB. Slower
	// readers read from the store.
	TailBytes int
	// LagAfter is how long an update waits for ranges that may have an earlier one;
	// default 1 s. Then those ranges lag: their updates come as they can be read.
	LagAfter time.Duration
	// Ahead is how far ahead of all that this node knows to be closed, and of its
	// clock, a cursor may lie without a reset. Default 0, for a node that has closed
	// all that is closed. In a cluster another node may know of more.
	Ahead time.Duration
	// Readings is how many ranges streams that are behind read at a time; 0: any number.
	// Where all ranges are here, more than there are processors only wait for each other;
	// where a reading waits for another node, it should keep none of other ranges waiting.
	Readings int
	// Recheck is how often the hub looks whether the subscriptions of its streams are still
	// there; 0: never, for a node that is told of each that is deleted. It does so less
	// often where it takes long.
	Recheck time.Duration
}

// WithDefaults returns the configuration with its defaults decided.
func (c Config) WithDefaults() Config {
	c.TailBytes = cmp.Or(c.TailBytes, 8<<20)
	c.LagAfter = cmp.Or(c.LagAfter, time.Second)
	return c
}

// Validate returns what is wrong with a configuration whose defaults are decided.
func (c Config) Validate() error {
	var wrong []error
	if c.Epoch == 0 {
		wrong = append(wrong, errors.New("epoch: missing"))
	}
	if c.TailBytes < 1 {
		wrong = append(wrong, fmt.Errorf("most bytes of newest events %d: want at least 1", c.TailBytes))
	}
	if c.LagAfter < 0 {
		wrong = append(wrong, fmt.Errorf("lag after %v: want a positive duration", c.LagAfter))
	}
	if c.Readings < 0 {
		wrong = append(wrong, fmt.Errorf("readings %d: want at least 0", c.Readings))
	}
	if c.Ahead < 0 {
		wrong = append(wrong, fmt.Errorf("ahead %v: want no negative duration", c.Ahead))
	}
	if c.Recheck < 0 {
		wrong = append(wrong, fmt.Errorf("recheck %v: want no negative duration", c.Recheck))
	}
	return errors.Join(wrong...)
}
