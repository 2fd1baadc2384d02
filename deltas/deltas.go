package deltas

import (
	"github.com/seed-91e7e7c1/corona/deltas/codec"
	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/diff"
	"github.com/seed-91e7e7c1/corona/deltas/extract"
	"github.com/seed-91e7e7c1/corona/deltas/judge"
)

// What a document says: see package content.
type (
	Core       = content.Core
	Entry      = content.Entry
	Entries    = content.Entries
	Kind       = content.Kind
	Hash       = content.Hash
	Hints      = content.Hints
	ParseError = content.ParseError
)

// The kinds of document.
const (
	KindText = content.KindText
	KindHTML = content.KindHTML
	KindJSON = content.KindJSON
	KindFeed = content.KindFeed
)

// Caps on what comes from outside, and the version of the rules of [Extract].
const (
	MaxDocument      = content.MaxDocument
	MaxText          = content.MaxText
	ExtractorVersion = content.ExtractorVersion
)

// What callers branch on.
var (
	ErrEmpty    = content.ErrEmpty
	ErrTooLarge = content.ErrTooLarge
	ErrCorrupt  = content.ErrCorrupt
	ErrVersion  = content.ErrVersion
	ErrBase     = codec.ErrBase
	ErrMerge    = content.ErrMerge
)

// ParseKind is the inverse of [Kind.String] for the four kinds.
func ParseKind(s string) (Kind, error) { return content.ParseKind(s) }

// Merge returns the whole feed of base, the content that a poller held, and partial, an
// answer of new and changed entries alone. The error is [ErrMerge] or [ErrTooLarge]. See
// [content.Merge].
func Merge(base, partial *Core) (*Core, error) { return content.Merge(base, partial) }

// Document is what a poll brought.
type Document = extract.Document

// Extract returns a document's core content. The error is a [*ParseError], [ErrEmpty] or
// [ErrTooLarge]. See [extract.Content].
func Extract(doc Document) (*Core, error) { return extract.Content(doc) }

// RawHash is a fast hash of a body as fetched, for comparison within one node.
func RawHash(body []byte) uint64 { return extract.RawHash(body) }

// What an observation comes to, and what the owner keeps of a channel: see package judge.
type (
	Observation = judge.Observation
	Decision    = judge.Decision
	Verdict     = judge.Verdict
	State       = judge.State
	Candidate   = judge.Candidate
	Noise       = judge.Noise
	Masked      = judge.Masked
	Mask        = judge.Mask
	Update      = judge.Update
)

// The verdicts.
const (
	VerdictUnchanged = judge.VerdictUnchanged
	VerdictHeld      = judge.VerdictHeld
	VerdictPublish   = judge.VerdictPublish
	VerdictRebase    = judge.VerdictRebase
)

// Judge decides whether an observation is the channel's next version. seen are the
// identities reported before, base is the current version's content, nil if the caller
// has it not. It is pure. The rules stand at [judge.Decide].
func Judge(state State, seen []uint64, base *Core, obs Observation) Decision {
	return judge.Decide(state, seen, base, obs)
}

// Remember returns seen with the new numbers behind it, the newest [judge.MaxSeen]. It
// may reuse seen's memory.
func Remember(seen, fresh []uint64) []uint64 { return judge.Remember(seen, fresh) }

// HoldText says of a [Decision]'s reason what waits, and what it waits for.
func HoldText(reason string) string { return judge.HoldText(reason) }

// Compare returns what changed from base, which may be nil, to next, by the two contents
// alone. See [judge.Compare].
func Compare(base, next *Core) *Update { return judge.Compare(base, next) }

// Germane reports whether a person would call next another content than base.
func Germane(base, next *Core) bool { return judge.Germane(base, next) }

// DecodeUpdate is the inverse of [Update.Append]. The error is [ErrVersion] or
// [ErrCorrupt].
func DecodeUpdate(data []byte) (*Update, error) { return judge.DecodeUpdate(data) }

// UpdateJSON returns an update that [Update.Append] made as a JSON object on one line, with
// the names that package api gives its parts. See [judge.UpdateJSON].
func UpdateJSON(data []byte) ([]byte, error) { return judge.UpdateJSON(data) }

// Op is a step from one content to the next.
type Op = diff.Op

// Ops returns the steps from base's content to next's, in the order of lines.
func Ops(base, next *Core) []Op { return diff.Ops(base, next) }

// MakeDelta returns the smallest patch that makes next of base, for [ApplyDelta]. A nil
// base gives one that needs none. See [codec.Encode].
func MakeDelta(base, next *Core) []byte { return codec.Encode(base, next) }

// MakeDeltaFast is [MakeDelta] for what goes from node to node: it takes an eighth of the
// processor, and half as many bytes more. See [codec.EncodeFast].
func MakeDeltaFast(base, next *Core) []byte { return codec.EncodeFast(base, next) }

// ApplyDelta returns the content that the delta was made for. base is nil for a delta
// that was made without one. The error is [ErrBase], [ErrVersion] or [ErrCorrupt]. See
// [codec.Apply].
func ApplyDelta(base *Core, delta []byte) (*Core, error) { return codec.Apply(base, delta) }

// Packer makes core content small for a store that holds many of them.
type Packer = codec.Packer

// NewPacker returns a packer for so many goroutines at a time.
func NewPacker(parallel int) *Packer { return codec.NewPacker(parallel) }
