// Package notify takes committed updates to those who subscribed.
//
// There are two kinds of sink. A cursor sink, a [Stream], is read: each event
// carries a small cursor, and whoever comes back with it goes on exactly where
// they were, since what they missed is read from the store. An acknowledged sink,
// a webhook, is called: each subscription gets its versions in order, at least
// once, and how far everybody is is committed to the store in small batches, so
// that a crash repeats at most the last of them, under the same message IDs.
//
// The store is the truth. The hooks that tell of commits ([Notifier.Committed]
// and its siblings) only wake; a wake that is dropped costs a scan, never an
// update. DESIGN.md beside the code has the states, the formats and the threads.
package notify
