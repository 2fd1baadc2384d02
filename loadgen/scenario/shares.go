package scenario

import "math"

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
