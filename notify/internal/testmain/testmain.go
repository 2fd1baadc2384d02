// Package testmain runs the tests of the packages that encode updates in virtual time.
package testmain

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/notify/internal/memstore"
	"github.com/seed-91e7e7c1/corona/notify/payload"
)

// Run runs the tests of a package. It makes the codec's shared coders before any
// virtual time begins: channels that are made inside a test's bubble cannot be used
// from another.
func Run(m *testing.M) {
	if _, err := payload.Encode(channel.Update{Version: 2, Data: memstore.Encoded(2)}); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
