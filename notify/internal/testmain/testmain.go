// Package testmain runs the tests of the packages that encode updates in virtual time.
package testmain

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/seed-91e7e7c1/corona/deltas/ready"
)

// Run runs the tests of a package.
func Run(m *testing.M) {
	ready.Coders()
	goleak.VerifyTestMain(m)
}
