package ownership

import (
	"sync/atomic"

	"github.com/hashicorp/raft"
)

// configured knows the newest committed configuration of a group, and the index of its entry. Raft
// itself gives the latest one, committed or not, and no index: GetConfiguration().Index() is 0
// (raft 1.7.3).
type configured struct {
	applied  atomic.Pointer[configuration] // nil: none since the snapshot
	snapshot func() (configuration, error) // the one with the newest snapshot; empty without one
}

type configuration struct {
	servers []raft.Server
	index   uint64
}

// apply notes a configuration whose entry is committed.
func (c *configured) apply(index uint64, of raft.Configuration) {
	c.applied.Store(&configuration{of.Servers, index})
}

// restored forgets what a snapshot that is stored now has replaced.
func (c *configured) restored() { c.applied.Store(nil) }

// committed returns the newest configuration whose entry is applied here, or in the snapshot.
func (c *configured) committed() (configuration, error) {
	if applied := c.applied.Load(); applied != nil {
		return *applied, nil
	}
	return c.snapshot()
}
