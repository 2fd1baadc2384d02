// Package diskfaulttest is for tests that make disks fail.
package diskfaulttest

import (
	"errors"
	"testing"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/diskfault"
	"github.com/seed-91e7e7c1/corona/internal/need"
)

// Need skips a test that this machine cannot run, by what [diskfault.CanTrace] or
// [diskfault.CanMount] returned; in CI it fails.
func Need(t *testing.T, err error) {
	t.Helper()
	switch {
	case errors.Is(err, diskfault.ErrUnavailable):
		need.Missing(t, "%v", err)
	case err != nil:
		t.Fatal(err)
	}
}
