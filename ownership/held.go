package ownership

import (
	"errors"
	"maps"
	"slices"

	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"github.com/seed-91e7e7c1/corona/ownership/internal/tables"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// held are the replicas on the disk of one of several nodes, as the meta store notes them, so that
// what a replica of before has left is never taken for another one's. It is of open, then of
// placer.run.
type held struct {
	*stores
	notes    *metaStore
	replicas map[uint32]string // by range
	noted    []string          // of those, the ones noted as damaged
}

// read learns which replicas are on the disk of one of several nodes.
func (h *held) read(table *wire.Meta) (err error) {
	replicas, damaged, err := h.notes.held()
	if err != nil {
		return err
	}
	if h.replicas = replicas; replicas != nil {
		for id, replica := range replicas {
			if slices.Contains(damaged, replica) {
				h.repairs.note(id, replica, errKnownDamaged)
			}
		}
		return nil
	}
	h.replicas = make(map[uint32]string) // all of the founding
	for _, r := range table.Ranges {
		if id := h.net.replicaHere(r); id != "" && !r.Planned {
			h.replicas[r.Id] = id
		}
	}
	return h.notes.setHeld(h.replicas, nil)
}

// set notes which replica of a range is on this disk, empty for none.
func (h *held) set(id uint32, replica string) error {
	replicas := maps.Clone(h.replicas)
	if replicas[id] = replica; replica == "" {
		delete(replicas, id)
	}
	h.repairs.forgotten(id, h.replicas[id])
	damaged := h.repairs.ids()
	if err := h.notes.setHeld(replicas, damaged); err != nil {
		return err
	}
	h.replicas, h.noted = replicas, damaged
	if len(damaged) > 0 {
		return nil
	}
	return h.removeAside()
}

// noteDamaged notes durably which of the replicas held are damaged.
func (h *held) noteDamaged() error {
	damaged := h.repairs.ids()
	if slices.Equal(damaged, h.noted) {
		return nil
	}
	if err := h.notes.setHeld(h.replicas, damaged); err != nil {
		return err
	}
	h.noted = damaged
	return nil
}

// openStores opens log and state. On one of several nodes, where damage is such that they do
// not open, or concerns all replicas, they are set aside for new ones.
func (h *held) openStores(id raft.ServerID, table *wire.Meta, born bool) error {
	if h.repairs == nil {
		return h.stores.open(id, table, born)
	}
	if err := h.read(table); err != nil {
		return err
	}
	if len(h.replicas) == 0 || len(h.repairs.ids()) < len(h.replicas) {
		err := h.stores.open(id, table, born)
		if !errors.Is(err, ErrCorrupt) || h.onlyCopy(table) {
			return err
		}
		if err := h.condemn(err); err != nil {
			return err
		}
		if err := h.reset(); err != nil {
			return err
		}
	}
	if err := h.setAside(); err != nil {
		return err
	}
	return h.stores.open(id, table, false)
}

// condemn notes durably that all replicas held are damaged: the next start sets them aside.
func (h *held) condemn(why error) error {
	h.repairs.noteAll(h.replicas, why)
	return h.notes.setHeld(h.replicas, h.repairs.ids())
}

// onlyCopy reports whether this node has a range that no other node has, be it under the number
// that it had before a recovery.
func (h *held) onlyCopy(table *wire.Meta) bool {
	return slices.ContainsFunc(table.GetRanges(), func(r *wire.Range) bool {
		have := h.replicas[r.Id]
		return len(r.Replicas) == 1 && have != "" && (have == r.Replicas[0] || have == tables.SurvivorOf(table, r.Replicas[0]))
	})
}

var (
	errKnownDamaged = disk.Corrupt("it was found before this start")
	errToldDamaged  = disk.Corrupt("the cluster's table says so")
)
