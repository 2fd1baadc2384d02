package cli

import (
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/pflag"
)

// named is the value of a flag that another package reads, by names.
type named[T fmt.Stringer] struct {
	value *T
	parse func(string) (T, error)
}

// NamedValue returns the value of a flag that parse reads into to.
func NamedValue[T fmt.Stringer](to *T, parse func(string) (T, error)) pflag.Value {
	return named[T]{to, parse}
}

func (n named[T]) String() string { return (*n.value).String() }

func (n named[T]) Set(text string) (err error) {
	*n.value, err = n.parse(text)
	return err
}

func (named[T]) Type() string { return "string" }

// budget is the value of --budget; 0 is auto.
type budget struct{ most *float64 }

// BudgetValue returns the value of a flag for a budget: auto, which is 0 in to, or a
// number above 0.
func BudgetValue(to *float64) pflag.Value { return budget{to} }

func (b budget) String() string {
	if *b.most == 0 {
		return "auto"
	}
	return strconv.FormatFloat(*b.most, 'g', -1, 64)
}

func (b budget) Set(text string) error {
	most, err := 0.0, error(nil)
	if text != "auto" {
		most, err = strconv.ParseFloat(text, 64)
		if err != nil || !(most > 0) || math.IsInf(most, 0) {
			return WantBudget
		}
	}
	*b.most = most
	return nil
}

func (budget) Type() string { return "auto|number" }

const WantBudget Wanted = "want auto, or a number above 0"
