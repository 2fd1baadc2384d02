package scenario

import (
	"math"
	"slices"
)

// Shares divides a total among n in proportion to rank to the power of -exponent (Zipf's
// law), after 1 for each, the largest first. Of a total below n the first get 1 each.
func Shares(n, total int, exponent float64) []int {
	shares := make([]int, n)
	if total < n {
		for i := range total {
			shares[i] = 1
		}
		return shares
	}
	sum := 0.0
	for i := range n {
		sum += math.Pow(float64(i+1), -exponent)
	}
	given, exact := 0, 0.0
	for i := range n {
		exact += float64(total-n) * math.Pow(float64(i+1), -exponent) / sum
		shares[i] = 1 + int(math.Round(exact)) - given
		given = int(math.Round(exact))
	}
	return shares
}

// Places returns the numbers of the channels that are subscribed to among those that the
// origins have, of which number n lives on host n modulo Hosts, and how many these are.
func (o *Origins) Places() (places []int32, channels int) {
	if o.Spread.Exponent == 0 {
		for n := range o.Channels {
			places = append(places, int32(n))
		}
		return places, o.Channels
	}
	for host, share := range Shares(o.Hosts, o.Channels, o.Spread.Exponent) {
		for k := range share {
			places = append(places, int32(host+k*o.Hosts))
		}
	}
	slices.Sort(places)
	return places, int(places[len(places)-1]) + 1
}
