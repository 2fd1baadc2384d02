//go:build planted

package planted

import (
	"os"
	"strconv"
)

var chosen, _ = strconv.Atoi(os.Getenv("CORONA_PLANTED_BUG")) // 0, which is no bug, without it

// Bug reports whether the program has a bug, by its number.
func Bug(n int) bool { return n == chosen }
