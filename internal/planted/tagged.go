//go:build planted

package planted

import (
	"os"
	"strconv"
)

const variable = "CORONA_PLANTED_BUG"

var chosen = choose()

// choose reads the variable, and takes it away: the program refuses those of its prefix that
// no flag answers to.
func choose() int {
	number, _ := strconv.Atoi(os.Getenv(variable)) // 0, which is no bug, without it
	_ = os.Unsetenv(variable)
	return number
}

// Bug reports whether the program has a bug, by its number.
func Bug(n int) bool { return n == chosen }
