// Package deltas decides what a document says and what changed in it.
//
// [extract.Content] turns a document (feed, HTML, JSON, text) into core content: lines
// of its own making without what changes without meaning. [judge.Compare] says what
// an update is to a person: entries and a readable diff. [judge.Decide] decides
// whether a poller's observation is an update at all. [codec.Encode] and
// [codec.Apply] carry a version to nodes that hold the one before.
//
// Everything here is pure: no clock, no goroutine, no I/O. DESIGN.md has the
// formats and the rules.
package deltas
