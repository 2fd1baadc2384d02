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

// ParseKind is [content.ParseKind].
func ParseKind(s string) (Kind, error) { return content.ParseKind(s) }

// Merge is [content.Merge].
func Merge(base, partial *Core) (*Core, error) { return content.Merge(base, partial) }

// Document is what a poll brought.
type Document = extract.Document

// Extract is [extract.Content].
func Extract(doc Document) (*Core, error) { return extract.Content(doc) }

// RawHash is [extract.RawHash].
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

// Judge is [judge.Decide].
func Judge(state State, seen []uint64, base *Core, obs Observation) Decision {
	return judge.Decide(state, seen, base, obs)
}

// Remember is [judge.Remember].
func Remember(seen, fresh []uint64) []uint64 { return judge.Remember(seen, fresh) }

// HoldText is [judge.HoldText].
func HoldText(reason string) string { return judge.HoldText(reason) }

// Compare is [judge.Compare].
func Compare(base, next *Core) *Update { return judge.Compare(base, next) }

// Germane is [judge.Germane].
func Germane(base, next *Core) bool { return judge.Germane(base, next) }

// DecodeUpdate is [judge.DecodeUpdate].
func DecodeUpdate(data []byte) (*Update, error) { return judge.DecodeUpdate(data) }

// Op is a step from one content to the next.
type Op = diff.Op

// Ops is [diff.Ops].
func Ops(base, next *Core) []Op { return diff.Ops(base, next) }

// MakeDelta is [codec.Encode].
func MakeDelta(base, next *Core) []byte { return codec.Encode(base, next) }

// ApplyDelta is [codec.Apply].
func ApplyDelta(base *Core, delta []byte) (*Core, error) { return codec.Apply(base, delta) }

// Packer makes core content small for a store that holds many of them.
type Packer = codec.Packer

// NewPacker is [codec.NewPacker].
func NewPacker(parallel int) *Packer { return codec.NewPacker(parallel) }
