package honeycomb

import (
	"fmt"
	"math"
	"slices"
)

// values are the columns of values, by the names that errors have for them.
func (ch Channels) values() [5]valueColumn {
	return [...]valueColumn{
		{"subscribers", ch.Subscribers}, {"size_bytes", ch.SizeBytes}, {"update_interval_s", ch.UpdateInterval},
		{"min_rate", ch.MinRate}, {"max_rate", ch.MaxRate},
	}
}

type valueColumn struct {
	name   string
	values []float64
}

// checkColumns says whether the columns that are needed are there, and as long
// as they have to be.
func (c Config) checkColumns(ch Channels) error {
	if ch.Len() > math.MaxInt32/2 {
		return fmt.Errorf("%w: %d channels are too many", ErrConfig, ch.Len())
	}
	needed := map[string]bool{"size_bytes": c.Cost == Bytes, "update_interval_s": c.Policy.fair()}
	for _, column := range ch.values() {
		if n := len(column.values); n != ch.Len() && (needed[column.name] || column.values != nil) {
			return fmt.Errorf("%w: column %s has %d rows of %d", ErrConfig, column.name, n, ch.Len())
		}
	}
	if ch.Host != nil && len(ch.Host) != ch.Len() {
		return fmt.Errorf("%w: column host has %d rows of %d", ErrConfig, len(ch.Host), ch.Len())
	}
	return nil
}

// check returns an error about the first row with a value that cannot be
// computed with.
func (ch Channels) check() error {
	first := ch.Len()
	for _, column := range ch.values() {
		values := column.values[:min(len(column.values), first)]
		if bad := slices.IndexFunc(values, func(v float64) bool { return !usable(v) }); bad >= 0 {
			first = bad
		}
	}
	if first == ch.Len() {
		return nil
	}
	return ch.checkRow(first)
}

// checkRow says what is wrong with a row.
func (ch Channels) checkRow(i int) error {
	for _, column := range ch.values() {
		if column.values == nil || usable(column.values[i]) {
			continue
		}
		v, reason := column.values[i], "is out of range: 0, or from 1e-100 to 1e100"
		switch {
		case math.IsNaN(v):
			reason = "is not a number"
		case v < 0:
			reason = "is negative"
		}
		return &RowError{Row: i, Column: column.name, Value: v, Reason: reason}
	}
	return nil
}
