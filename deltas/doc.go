// Package deltas decides what a document says and what changed in it.
//
// [Extract] turns a document (feed, HTML, JSON, text) into core content: lines
// of its own making without what changes without meaning. [Compare] says what
// an update is to a person: entries and a readable diff. [Judge] decides
// whether a poller's observation is an update at all. [MakeDelta] and
// [ApplyDelta] carry a version to nodes that hold the one before.
//
// It is a facade over the packages in its folder: content, extract, diff, judge and
// codec. Everything here is pure: no clock, no goroutine, no I/O. DESIGN.md has the
// formats and the rules.
package deltas
