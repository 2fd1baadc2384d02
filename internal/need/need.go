// Package need is for tests that need more than Go: a program, a right, another operating
// system's networks.
package need

import (
	"os"
	"testing"
)

// Missing ends a test for want of something: on a bare machine it skips the test, and in
// CI (CI=true), where all must be there, it fails it.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}
