// Package notify delivers committed updates to subscribers.
//
// There are two kinds of sink. A cursor sink is read: package stream. An acknowledged
// sink is called: package webhook, on the delivery positions of package position.
// This package joins both behind one set of hooks and one configuration.
//
// The store is the truth. The hooks that announce commits ([Notifier.Committed] and
// its siblings) only wake; a wake that is dropped costs a scan, never an update.
// DESIGN.md has the states and the threads.
package notify
