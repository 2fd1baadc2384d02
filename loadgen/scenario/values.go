package scenario

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// text is a value that is read from a scalar, whatever its YAML type.
type text interface{ parse(string) error }

// Share is a part of a whole, 0 to 1: written as 1% or 0.01.
type Share float64

func (s *Share) parse(from string) error {
	number, percent := strings.CutSuffix(from, "%")
	value, err := strconv.ParseFloat(number, 64)
	if percent {
		value /= 100
	}
	if err != nil || !(value >= 0 && value <= 1) {
		return errors.New("want a share from 0% to 100%")
	}
	*s = Share(value)
	return nil
}

// String returns the share in percent.
func (s Share) String() string { return strconv.FormatFloat(100*float64(s), 'g', 6, 64) + "%" }

// ShareFor is a share and how long something takes for it: written as 1%:2s.
type ShareFor struct {
	Share Share
	For   time.Duration
}

func (s *ShareFor) parse(from string) error {
	share, long, found := strings.Cut(from, ":")
	if !found && (from == "0" || from == "0%") {
		*s = ShareFor{}
		return nil
	}
	d, err := time.ParseDuration(long)
	if err != nil || d <= 0 {
		return errors.New("want a share and a duration, such as 1%:2s")
	}
	s.For = d
	return s.Share.parse(share)
}

// Popularity says how subscriptions are divided among channels: in proportion to
// rank to the power of -Exponent (Zipf's law), after one for each. 0: evenly.
type Popularity struct{ Exponent float64 }

func (p *Popularity) parse(from string) error {
	if from == "even" {
		*p = Popularity{}
		return nil
	}
	number, zipf := strings.CutPrefix(from, "zipf:")
	exponent, err := strconv.ParseFloat(number, 64)
	if !zipf || err != nil || !(exponent >= 0 && exponent <= 5) {
		return errors.New("want zipf:EXPONENT, 0 to 5, or even")
	}
	p.Exponent = exponent
	return nil
}

// The kinds of update schedule.
const (
	Poisson = "poisson" // intervals of the paper's survey, gaps close to exponential
	Daily   = "daily"   // the same, more by day than by night: the start is midnight in the schedule's time
	Replay  = "replay"  // when recorded documents did
	Never   = "none"    // nothing changes but by events
)

// Changes says when channels change.
type Changes struct {
	Kind string
	File string // of a replay: recorded histories, a file or a folder
}

func (c *Changes) parse(from string) error {
	if file, replay := strings.CutPrefix(from, Replay+":"); replay && file != "" {
		*c = Changes{Replay, file}
		return nil
	}
	if from != Poisson && from != Daily && from != Never {
		return fmt.Errorf("want %s, %s, %s:FILE or %s", Poisson, Daily, Replay, Never)
	}
	*c = Changes{Kind: from}
	return nil
}

// Limit is a number, or a factor on what was planned: 1.15 * planned.
type Limit struct {
	Value   float64
	Planned bool // Value is a factor on the same percentile of the plan
}

func (l *Limit) parse(from string) error {
	number := from
	if factor, name, product := strings.Cut(from, "*"); product {
		if strings.TrimSpace(name) != "planned" {
			return errors.New(`want a number, or a factor such as "1.15 * planned"`)
		}
		number, l.Planned = strings.TrimSpace(factor), true
	}
	value, err := strconv.ParseFloat(number, 64)
	if from == "planned" {
		value, err, l.Planned = 1, nil, true
	}
	if err != nil || math.IsNaN(value) || math.IsInf(value, 0) {
		return errors.New(`want a number, or a factor such as "1.15 * planned"`)
	}
	l.Value = value
	return nil
}

// String returns the limit as it is written.
func (l Limit) String() string {
	number := strconv.FormatFloat(l.Value, 'g', -1, 64)
	if l.Planned {
		return number + " * planned"
	}
	return number
}
