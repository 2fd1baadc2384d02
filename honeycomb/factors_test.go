package honeycomb

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

func TestWeights(t *testing.T) {
	const tau = 1800 * time.Second
	for _, tc := range []struct {
		policy        Policy
		weight, scale float64 // of an update interval of 900 seconds; of tau
	}{
		{Lite, 1, 1}, {Fast, 1, 1}, {Fair, 1.0 / 900, 1800}, {FairSqrt, 1.0 / 30, math.Sqrt(1800)}, {FairLog, 1 / math.Log(900), math.Log(1800)},
	} {
		if got := tc.policy.weight(900); got != tc.weight {
			t.Errorf("%v: weight %v, want %v", tc.policy, got, tc.weight)
		}
		if got := tc.policy.scale(tau); got != tc.scale {
			t.Errorf("%v: scale %v, want %v", tc.policy, got, tc.scale)
		}
		if least, most := tc.policy.weight(1e9), tc.policy.weight(1); least != tc.policy.weight(LongestInterval) || most != tc.policy.weight(ShortestInterval) {
			t.Errorf("%v: weights %v to %v", tc.policy, least, most)
		}
	}
	if got := Policy(policies).String(); got != "unknown" {
		t.Errorf("a policy that there is not is %q", got)
	}
	if got := Cost(costs).String(); got != "unknown" {
		t.Errorf("a cost that there is not is %q", got)
	}
}

// The channel that changes four times as often has twice the rate by fair, and seconds
// are those of its τ/u.
func TestFairInSeconds(t *testing.T) {
	config := Config{Policy: Fair, Nodes: 10, Interval: time.Hour, Budget: 6}
	p, s := mustSolve(t, config, Channels{Subscribers: []float64{3, 3}, UpdateInterval: []float64{900, 3600}})
	if p.Rate(0) != 4 || p.Rate(1) != 2 {
		t.Errorf("rates %v and %v, want 4 and 2", p.Rate(0), p.Rate(1))
	}
	if want := (3*4*450.0 + 3*1*900.0) / 6; !near(s.Objective, want) {
		t.Errorf("objective %v s, want %v", s.Objective, want)
	}
	// From 2 to 3 the second saves 3·(900 − 600) s, from 4 to 5 the first 3·4·(450 − 360).
	if !near(s.Lambda, 3*4*90) || s.Boundary != 0 || !near(s.Beyond, s.Objective-1080.0/6) {
		t.Errorf("λ %v: %+v", s.Lambda, s)
	}
	e := p.Explain(0)
	if !near(e.Weight, 12) || !near(e.Last, 3*4*150) || !near(e.Next, 3*4*90) || e.Least != 1 || e.Most != 10 || e.Alone != 10 || e.Cost != 1 {
		t.Errorf("%+v", e)
	}
	wait, byUpdate := p.Detection()
	if !near(wait, (450.0+900)/2) || !near(byUpdate, (4*450.0+900)/5) {
		t.Errorf("detection %v s by subscriber, %v s by update", wait, byUpdate)
	}
}

// Values count from the smallest to the largest, both included; the reason names what is
// wrong.
func TestValues(t *testing.T) {
	good := Config{Nodes: 2, Interval: time.Hour}
	for _, v := range []float64{0, smallest, 1, largest} {
		if _, err := Prepare(good, Channels{Subscribers: []float64{1, v}}); err != nil {
			t.Errorf("%v: %v", v, err)
		}
	}
	for v, reason := range map[float64]string{
		smallest / 2: "out of range", largest * 2: "out of range", math.SmallestNonzeroFloat64: "out of range", math.Inf(1): "out of range",
		-1: "negative", math.NaN(): "not a number", math.Inf(-1): "negative", -smallest: "negative",
	} {
		_, err := Prepare(good, Channels{Subscribers: []float64{1, v}})
		var bad *RowError
		if !errors.As(err, &bad) || bad.Row != 1 || bad.Column != "subscribers" || !strings.Contains(bad.Reason, reason) {
			t.Errorf("%v: %v, want %q", v, err, reason)
		}
	}
	// Of several bad rows the first is named.
	_, err := Prepare(good, Channels{Subscribers: []float64{1, 1, -1, -1}, SizeBytes: []float64{1, math.NaN(), 1, 1}, MinRate: []float64{0, 0, 0, -9}})
	var bad *RowError
	if !errors.As(err, &bad) || bad.Row != 1 || bad.Column != "size_bytes" {
		t.Errorf("%v, want row 1", err)
	}
}

// Columns have all rows, also those that this policy does not need.
func TestColumnLengths(t *testing.T) {
	good := Config{Nodes: 2, Interval: time.Hour}
	for name, ch := range map[string]Channels{
		"size_bytes":        {SizeBytes: []float64{1}},
		"update_interval_s": {UpdateInterval: []float64{1, 2, 3}},
		"min_rate":          {MinRate: []float64{}},
		"max_rate":          {MaxRate: []float64{1}},
		"host":              {Host: []int32{0}},
	} {
		ch.Subscribers = []float64{1, 1}
		if _, err := Prepare(good, ch); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	long := Channels{Subscribers: []float64{1, 1}, SizeBytes: []float64{1, 1}, UpdateInterval: []float64{1, 2}, MinRate: []float64{0, 0}, MaxRate: []float64{0, 0}, Host: []int32{0, 1}}
	if _, err := Prepare(good, long); err != nil {
		t.Error(err)
	}
	long.Host[1] = 2
	good.HostCap = 1
	var bad *RowError
	if _, err := Prepare(good, long); !errors.As(err, &bad) || bad.Row != 1 || bad.Column != "host" {
		t.Errorf("host 2 of two rows: %v", err)
	}
}

// The limits of a configuration are part of it.
func TestConfigLimits(t *testing.T) {
	for name, c := range map[string]Config{
		"a second":         {Nodes: 1, Interval: time.Second},
		"floor":            {Nodes: 1, Interval: time.Hour, Floor: time.Hour},
		"target":           {Nodes: 1, Interval: time.Hour, Policy: Fast, Target: 1},
		"smallest budget":  {Nodes: 1, Interval: time.Hour, Budget: smallest},
		"largest capacity": {Nodes: 1, Interval: time.Hour, Capacity: largest},
	} {
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, c := range map[string]Config{
		"under a second":    {Nodes: 1, Interval: time.Second - 1},
		"floor":             {Nodes: 1, Interval: time.Hour, Floor: time.Hour + 1},
		"target":            {Nodes: 1, Interval: time.Hour, Policy: Fast},
		"policy":            {Nodes: 1, Interval: time.Hour, Policy: policies},
		"cost":              {Nodes: 1, Interval: time.Hour, Cost: costs},
		"under the budget":  {Nodes: 1, Interval: time.Hour, Budget: smallest / 2},
		"over the capacity": {Nodes: 1, Interval: time.Hour, Capacity: largest * 2},
	} {
		if err := c.Validate(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A width is the fewest nodes that keep the floor each, rounding aside; nodes of a prefix
// ladder poll once an interval.
func TestWidth(t *testing.T) {
	any10 := Config{Nodes: 10, Interval: time.Hour, Floor: 6 * time.Minute}
	prefix := Config{Nodes: 16, Interval: time.Hour, Floor: 6 * time.Minute, Ladder: Prefix(2)}
	for _, tc := range []struct {
		config Config
		rate   float64
		want   int
	}{
		{any10, 0, 0}, {any10, -1, 0}, {any10, 1.0 / 48, 1}, {any10, 1, 1}, {any10, 10, 1}, {any10, 10.001, 2}, {any10, 30, 3}, {any10, 31, 4},
		{any10, 1000, 10}, {prefix, 1, 1}, {prefix, 8, 8}, {prefix, 16, 16}, {prefix, 0.5, 1},
	} {
		if got := tc.config.Width(tc.rate); got != tc.want {
			t.Errorf("%v: width %d for rate %v, want %d", tc.config.Ladder, got, tc.rate, tc.want)
		}
	}
	if got := prefix.fastestRate(); got != 16 {
		t.Errorf("prefix: rates up to %v, want 16", got)
	}
	if got := any10.fastestRate(); got != 100 {
		t.Errorf("any: rates up to %v, want 100", got)
	}
}

// An entry of 0 is the cap of all hosts; hosts that cannot pass theirs are not looked at.
func TestHostCaps(t *testing.T) {
	config := Config{Nodes: 5, Interval: time.Hour, Budget: 100, HostCap: 2, HostCaps: []float64{0, 3, 5}}
	p, s := mustSolve(t, config, Channels{Subscribers: []float64{9, 9, 9, 9, 9}, Host: []int32{0, 1, 2, 3, -1}})
	for i, want := range []float64{2, 3, 5, 2, 5} {
		if p.Rate(i) != want {
			t.Errorf("row %d: rate %v, want %v", i, p.Rate(i), want)
		}
	}
	if len(p.hosts.list) != 3 {
		t.Errorf("%d hosts could pass their cap, want 3", len(p.hosts.list))
	}
	// From 2 to 3 saves 9·1800·(1/2 − 1/3) s; no budget binds.
	for k, want := range []HostPrice{{0, 2700, 2, 2, 0}, {1, 1350, 3, 3, 1}, {3, 2700, 2, 2, 3}} {
		if k >= len(s.Hosts) || !near(s.Hosts[k].Mu, want.Mu) || s.Hosts[k].Host != want.Host || s.Hosts[k].Boundary != want.Boundary ||
			s.Hosts[k].Cap != want.Cap || s.Hosts[k].Polls != want.Polls {
			t.Fatalf("%+v, want %+v", s.Hosts, want)
		}
	}
}

// A host whose lowest rates pass its cap has the price of the best step that it keeps out,
// not of a channel that has none.
func TestPriceOfUnmetHost(t *testing.T) {
	config := Config{Nodes: 5, Interval: time.Hour, Budget: 100, HostCap: 0.01}
	_, s := mustSolve(t, config, Channels{Subscribers: []float64{10, 30, 20, 90}, Host: []int32{0, 0, 0, 0}, MaxRate: []float64{0, 0, 0, 0.01}})
	worth := 30 * 1800 * 1.0 // from 1/48 to 1/47
	if len(s.Hosts) != 1 || s.Hosts[0].Boundary != 1 || !near(s.Hosts[0].Mu, worth*48*47) || s.Unmet.Hosts != 1 {
		t.Errorf("%+v", s)
	}
}

// A sum keeps what a float64 loses, and has it in its value and its comparisons.
func TestSum(t *testing.T) {
	var s sum
	for _, v := range []float64{1e16, 1, 1, 1, -1e16} {
		s.add(v)
	}
	if s.value() != 3 {
		t.Errorf("value %v, want 3", s.value())
	}
	var large sum
	large.add(1e16)
	large.add(1)
	large.add(1)
	if large.value() != 1e16+2 {
		t.Errorf("value %v, want %v", large.value(), 1e16+2)
	}
	// Over is more than rounding, also where that is less than a float64 tells.
	for more, want := range map[float64]bool{0: false, -1: false, 3: false, 5: true, 1e3: true} {
		limited := sum{high: 1e16}
		if limited.add(more); limited.over(1e16) != want {
			t.Errorf("1e16 and %v is over 1e16: %v", more, !want)
		}
	}
	var odd sum
	odd.add(1e16)
	odd.add(1) // between two float64
	odd.join(odd)
	if odd.add(-2e16); odd.value() != 2 {
		t.Errorf("joined with itself and less 2e16 %v, want 2", odd.value())
	}
	// The same terms in another order have the same sum.
	var one sum
	for range 10 {
		one.add(0.1)
	}
	var other sum
	for range 5 {
		other.add(0.1)
	}
	other.join(other)
	one.add(-other.high)
	one.add(-other.low)
	if math.Abs(one.value()) > 1e-30 {
		t.Errorf("they differ by %v", one.value())
	}
}
