package need

import (
	"fmt"
	"testing"
)

// ended is a test that says how it ended.
type ended struct {
	testing.TB
	how string
}

func (e *ended) Helper()                           {}
func (e *ended) Fatalf(format string, args ...any) { e.end("failed: " + fmt.Sprintf(format, args...)) }
func (e *ended) Skipf(format string, args ...any)  { e.end("skipped: " + fmt.Sprintf(format, args...)) }

func (e *ended) end(how string) {
	e.how = how
	panic(e)
}

func TestMissing(t *testing.T) {
	for ci, want := range map[string]string{"": "skipped: no strace", "true": "failed: no strace"} {
		t.Setenv("CI", ci)
		test := &ended{TB: t}
		func() {
			defer func() { _ = recover() }()
			Missing(test, "no %s", "strace")
		}()
		if test.how != want {
			t.Errorf("CI=%q: %q, want %q", ci, test.how, want)
		}
	}
}
