// Package diskfaulttest is for tests that make disks fail.
package diskfaulttest

import (
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/diskfault"
)

// Need skips a test that this machine cannot run, by what [diskfault.CanTrace] or
// [diskfault.CanMount] returned; where strace is missing in CI it fails.
func Need(t *testing.T, err error) {
	t.Helper()
	switch {
	case errors.Is(err, exec.ErrNotFound) && os.Getenv("CI") == "true":
		t.Fatal(err)
	case errors.Is(err, diskfault.ErrUnavailable):
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
}
