// Package position is the state of delivery on one channel: a delivery cursor plus
// stragglers.
//
// A pass offers one step, a version or the notice that the channel is gone, to
// every subscription in the order of their sequence numbers; the cursor is how far
// the pass has come. A subscription that is not where the cursor says is a
// straggler, with a next step of its own. What the cursor says must be true of all
// others whenever it moves: when a pass jumps over a gap, only those merge with it
// that were told of all of the gap. Nothing stops a pass: an offer that is not
// acknowledged in time becomes a straggler. So the store needs one small record per
// channel, however many subscriptions there are, and an entry for each subscription
// that lags.
//
// The package is pure: it takes values and times and returns values, and knows
// neither store, endpoint nor clock.
package position
