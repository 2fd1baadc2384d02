package notify

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain makes the codec's shared coders before any virtual time begins: channels
// that are made inside a test's bubble cannot be used from another.
func TestMain(m *testing.M) {
	if _, err := encodeUpdate(Update{Version: 2, Data: encoded(2)}); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
