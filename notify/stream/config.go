package stream

import (
	"cmp"
	"errors"
	"fmt"
)

// Config is what a [Hub] needs to know. The zero value of a field means its default.
type Config struct {
	// Epoch is the cluster's identity as cursors carry it: a cursor of another
	// epoch gets a reset. Required.
	Epoch uint64
	// TailBytes bounds the newest events kept in memory; default 8 MiB. Slower
	// readers read from the store.
	TailBytes int
}

// WithDefaults returns the configuration with its defaults decided.
func (c Config) WithDefaults() Config {
	c.TailBytes = cmp.Or(c.TailBytes, 8<<20)
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
	return errors.Join(wrong...)
}
