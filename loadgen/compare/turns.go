package compare

import "strconv"

// Turn is one run of several.
type Turn struct {
	Side   byte // 'a' or 'b'
	Number int  // of the side's runs, from 1
}

// String returns the name of the run's folder: a-1, b-1, a-2, …
func (t Turn) String() string { return string(t.Side) + "-" + strconv.Itoa(t.Number) }

// Turns returns the order of so many runs of each side. Two sides come as a b b a a b b a …,
// so that what drifts steadily, such as a machine that grows warm, meets both alike.
func Turns(runs int, two bool) (turns []Turn) {
	for n := 1; n <= runs; n++ {
		switch {
		case !two:
			turns = append(turns, Turn{'a', n})
		case n%2 == 1:
			turns = append(turns, Turn{'a', n}, Turn{'b', n})
		default:
			turns = append(turns, Turn{'b', n}, Turn{'a', n})
		}
	}
	return turns
}
