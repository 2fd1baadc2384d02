package notify

import (
	"testing"

	"github.com/seed-91e7e7c1/corona/channel"
	"go.uber.org/goleak"
)

// TestMain makes the codec's shared coders before any virtual time begins: channels
// that are made inside a test's bubble cannot be used from another.
func TestMain(m *testing.M) {
	if _, err := encodeUpdate(channel.Update{Version: 2, Data: encoded(2)}); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
