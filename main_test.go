package corona_test

import (
	"os"
	"testing"

	"github.com/seed-91e7e7c1/corona/deltas"
)

// TestMain makes the codec's shared coders before any virtual time begins: channels
// that are made inside a test's bubble cannot be used from another.
func TestMain(m *testing.M) {
	core, err := deltas.Extract(deltas.Document{Body: []byte("a")})
	if err == nil {
		_, err = deltas.DecodeUpdate(deltas.Compare(nil, core).Append(nil))
	}
	if err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
