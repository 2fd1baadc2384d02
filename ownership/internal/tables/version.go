package tables

import (
	"errors"
	"fmt"

	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// FirstVersion is that of tables and programs that say none.
const FirstVersion = 4

// ErrVersion says that a program does not apply the version of the state machine that the
// cluster is at: it is too old, or too new by more than one release.
var ErrVersion = errors.New("program of another version than the cluster")

// Versions are those that a program applies, both ends included.
type Versions struct{ Oldest, Newest uint32 }

// VersionsOf reads what a program supports; one that does not say applies the first version.
func VersionsOf(s *wire.Support) Versions {
	if s == nil {
		return Versions{FirstVersion, FirstVersion}
	}
	return Versions{s.Oldest, s.Newest}
}

// Support is the inverse of VersionsOf.
func (v Versions) Support() *wire.Support { return &wire.Support{Oldest: v.Oldest, Newest: v.Newest} }

// apply returns ErrVersion unless the program applies a version.
func (v Versions) apply(version uint32) error {
	switch {
	case version > v.Newest:
		return fmt.Errorf("%w: the cluster is at version %d of the state machine, this program applies %d to %d: install a newer one", ErrVersion, version, v.Oldest, v.Newest)
	case version < v.Oldest:
		return fmt.Errorf("%w: the cluster is at version %d of the state machine, this program applies %d to %d: install the release before on all nodes first", ErrVersion, version, v.Oldest, v.Newest)
	default:
		return nil
	}
}

// Fits returns ErrVersion for the table of a cluster that the program cannot be of.
func (v Versions) Fits(table *wire.Meta) error { return v.apply(VersionOf(table)) }

// VersionOf returns the version that a table's cluster is at.
func VersionOf(table *wire.Meta) uint32 { return max(table.GetStateMachine(), FirstVersion) }

// raiseVersion has no check of what this program applies, which would make replicas differ.
func raiseVersion(table *wire.Meta, c *wire.RaiseVersion) error {
	switch {
	case c.Version <= VersionOf(table):
		return refuse("version %d of the state machine, it is at %d", c.Version, VersionOf(table))
	case c.Revision != table.Revision:
		return refuse("a raise decided for revision %d of the table, it is at %d", c.Revision, table.Revision)
	}
	table.StateMachine = c.Version
	return nil
}
