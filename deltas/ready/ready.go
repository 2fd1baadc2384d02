// Package ready makes the coders that all goroutines of a process share, for tests in
// virtual time: channels that are made inside a test's bubble cannot be used from another.
// A test's main calls it; a node makes them when it uses them.
package ready

import "github.com/seed-91e7e7c1/corona/deltas"

// Coders makes the coders of updates and of deltas between nodes.
func Coders() {
	core, err := deltas.Extract(deltas.Document{Body: []byte("a")})
	if err == nil {
		_, err = deltas.ApplyDelta(nil, deltas.MakeDeltaFast(nil, core))
	}
	if err == nil {
		_, err = deltas.DecodeUpdate(deltas.Compare(nil, core).Append(nil))
	}
	if err != nil {
		panic(err)
	}
}
