package ownership

import (
	"testing"

	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// TestFarErrors: what callers branch on comes through another node, with its text.
func TestFarErrors(t *testing.T) {
	for class, is := range classes {
		if is == nil {
			continue
		}
		content := marshal(t, failureOf(is))
		far := &wire.Failure{}
		if err := proto.Unmarshal(content, far); err != nil {
			t.Fatal(err)
		}
		err := failureError(far)
		wantError(t, err, is)
		if err.Error() != is.Error() {
			t.Errorf("class %d: %q, want %q", class, err, is)
		}
	}
	if err := failureError(failureOf(nil)); err != nil {
		t.Errorf("no error: %v", err)
	}
	wantError(t, failureError(&wire.Failure{Class: 999, Text: "of a newer version"}), ErrUnavailable)
	wantError(t, failureError(failureOf(proto.Error)), ErrUnavailable)
}
