package sim

import (
	_ "embed"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/costs"
)

//go:embed costs.json
var measuredCosts string

// MeasuredCosts are those of live runs of this version.
func MeasuredCosts() (*costs.File, error) { return costs.Read(strings.NewReader(measuredCosts)) }

// ReadCosts reads those of other runs.
func ReadCosts(name string) (*costs.File, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	measured, err := costs.Read(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return measured, nil
}

// SubscriptionsFor is the paper's fifty for each channel.
func SubscriptionsFor(channels int) int {
	o := PaperOptions()
	return channels * (o.Subscriptions / o.Channels)
}

// Scale is what a node holds, sends and computes in clusters that no machine here holds, by
// costs measured live: of one node the channels that it owns and their optimal rates, and of
// all nodes the seats that those give them.
type Scale struct {
	Sizes []Size `json:"sizes"` // nodes and channels grow alike
	// Figures are per node, one for each size.
	Figures []ScaleFigure `json:"figures"`
	// Level says that no figure grows from the first size to the last by more than chance
	// explains, but those that go with the number of nodes.
	Level bool        `json:"level"`
	Costs *costs.File `json:"costs"`
}

// A Size is a cluster, and what the sampled node's plan says of it.
type Size struct {
	Nodes         int     `json:"nodes"`
	Channels      int     `json:"channels"`
	Subscriptions float64 `json:"subscriptions"`
	Ranges        int     `json:"ranges"`
	// Load is polls per interval and channel, Budget what subscribers would cause alone,
	// Detection the planned mean wait of a change over subscribers, in seconds: all of the
	// channels that the sampled node owns.
	Load      float64 `json:"load"`
	Budget    float64 `json:"budget"`
	Detection float64 `json:"detection_s"`
	// Width is pollers of a channel, on average.
	Width float64 `json:"width"`
}

// A ScaleFigure is what one node holds, sends or computes.
type ScaleFigure struct {
	Name    string    `json:"name"`
	Unit    string    `json:"unit"`
	PerNode []float64 `json:"per_node"` // by size
	// Growth is the last of PerNode over the first.
	Growth float64 `json:"growth"`
	// Goes says with what it goes: "share", of the node, or "nodes", which may grow with their
	// number.
	Goes string `json:"goes_with"`
	// Why says how it follows from what.
	Why string `json:"why"`
}

const (
	withShare = "share"
	withNodes = "nodes"
)

// Limits of sizes, and what is reckoned.
const (
	mostScaled   = 1_000_000_000 // channels
	scaleRounds  = 6             // maintenance intervals until plans stand
	leastNodes   = 3             // of the smallest size, as many as a range has replicas
	rangesOfNode = 10            // led by a node, as far as a cluster may have so many
	mostRanges   = 1024
	scaleChunks  = 64
)

// nodesMaintenance is nodes' default, where the paper has an hour.
const nodesMaintenance = 10 * time.Minute

// scaleSizes are the cluster, half and a quarter of it, the smallest first; without those of
// fewer than three nodes.
func scaleSizes(o Options) (sizes []Options) {
	for _, part := range []int{4, 2, 1} {
		one := o
		one.Maintenance = nodesMaintenance
		one.Nodes = o.Nodes / part
		one.Channels = int(int64(o.Channels) * int64(one.Nodes) / int64(o.Nodes))
		one.Subscriptions = int(float64(o.Subscriptions) * float64(one.Nodes) / float64(o.Nodes))
		if one.Nodes >= leastNodes && one.Channels >= one.Nodes || part == 1 {
			sizes = append(sizes, one)
		}
	}
	return sizes
}

// rangesFor is how many ranges a cluster is born with that is to have so many nodes: a power
// of two, at least the default, so that each leads ten or so.
func rangesFor(nodes int) int {
	ranges := rangeCount
	for ranges < rangesOfNode*nodes && ranges < mostRanges {
		ranges *= 2
	}
	return ranges
}

func (o Options) validateScale() error {
	switch {
	case o.Costs == nil:
		return fmt.Errorf("%w: no costs", ErrOptions)
	case o.Channels < 1 || o.Channels > mostScaled:
		return fmt.Errorf("%w: %d channels, want 1 to %d", ErrOptions, o.Channels, mostScaled)
	case o.Nodes < 1 || o.Nodes > mostNodes:
		return fmt.Errorf("%w: %d nodes, want 1 to %d", ErrOptions, o.Nodes, mostNodes)
	case o.Nodes > mostRanges:
		return fmt.Errorf("%w: %d nodes, want 1 to %d with so many channels: some would lead no range", ErrOptions, o.Nodes, mostRanges)
	case o.Channels/o.Nodes < 1:
		return fmt.Errorf("%w: %d channels, want one a node at least", ErrOptions, o.Channels)
	case o.Subscriptions < o.Channels:
		return fmt.Errorf("%w: %d subscriptions, want one a channel at least", ErrOptions, o.Subscriptions)
	}
	return o.Costs.Validate()
}

// runScale reckons all sizes.
func runScale(j *job, o Options) (*Scale, error) {
	s := &Scale{Costs: o.Costs}
	var shares []*share
	for _, one := range scaleSizes(o) {
		sh, err := newShare(j, one, 0)
		if err != nil {
			return nil, err
		}
		s.Sizes = append(s.Sizes, sh.size())
		s.add(sh.figures(o.Costs))
		shares = append(shares, sh)
	}
	s.judge(shares)
	return s, nil
}

// scaleSteps are those of a job that runScale takes.
func scaleSteps(o Options) int { return len(scaleSizes(o)) * (scaleChunks + scaleRounds + scaleChunks) }

// add adds the figures of a size, which are named alike for each.
func (s *Scale) add(figures []ScaleFigure) {
	if s.Figures == nil {
		s.Figures = figures
		return
	}
	for i := range s.Figures {
		s.Figures[i].PerNode = append(s.Figures[i].PerNode, figures[i].PerNode...)
	}
}

// judge says what grows. Shares are samples: the number of channels of a node that should
// have n is off by about √n, and sums over them by several times that, as few are popular.
func (s *Scale) judge(shares []*share) {
	first, last := shares[0], shares[len(shares)-1]
	chance := 4 * math.Sqrt(1/float64(len(first.own))+1/float64(len(last.own)))
	s.Level = true
	for i := range s.Figures {
		f := &s.Figures[i]
		f.Growth = f.PerNode[len(f.PerNode)-1] / f.PerNode[0]
		if f.Goes == withShare && !(f.Growth <= 1+mostGrowth+chance) {
			s.Level = false
		}
	}
}

// mostGrowth is by what part a figure of a node's share may grow when nodes and channels
// quadruple: eleven ranges of 1,024 are 5 % more than ten.
const mostGrowth = 0.06
