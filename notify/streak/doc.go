// Package streak is the streak of failures of a webhook's endpoint: the retry schedule,
// and the rules by which the keeper of the endpoint's record, the leader of the bucket
// of its URL, has several deliverers try it no more often than one would.
//
// A deliverer asks the keeper when a request has failed, and when it has something for
// an endpoint that fails. The keeper counts what belongs to the streak, and gives at
// most one grant at a time: one request may go.
//
// The package is pure: it takes values and times and returns values.
package streak
