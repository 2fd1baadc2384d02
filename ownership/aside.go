package ownership

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"

	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// asideDir has, below Config.Dir, the log and the state of replicas that were all found to
// be damaged, as they were, until the cluster has forgotten those replicas.
const asideDir = "damaged"

// setAside moves log and state, of which all is damaged, out of the way of new ones.
func (d *stores) setAside() error {
	files, dir := d.cfg.files, d.cfg.Dir
	if err := files.MkdirAll(files.PathJoin(dir, asideDir), dirPerm); err != nil {
		return fmt.Errorf("create directory: %w", err)
	}
	for n := 1; ; n++ {
		to := files.PathJoin(dir, asideDir, strconv.Itoa(n))
		if _, err := files.Stat(to); err == nil {
			continue
		} else if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("look at %s: %w", to, err)
		}
		return d.moveStores(to)
	}
}

func (d *stores) moveStores(to string) error {
	files, dir := d.cfg.files, d.cfg.Dir
	if err := files.MkdirAll(to, dirPerm); err != nil {
		return fmt.Errorf("create directory: %w", err)
	}
	for _, store := range []string{"log", "state"} {
		err := files.Rename(files.PathJoin(dir, store), files.PathJoin(to, store))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("set the %s aside: %w", store, err)
		}
	}
	for _, changed := range []string{to, files.PathDir(to), dir} {
		if err := syncDirOf(files, changed); err != nil {
			return err
		}
	}
	d.tools.log.Error("log and state are damaged and were set aside: all replicas of this node are filled again", "to", to)
	return nil
}

// removeAside removes what was set aside.
func (d *stores) removeAside() error {
	if err := d.cfg.files.RemoveAll(d.cfg.files.PathJoin(d.cfg.Dir, asideDir)); err != nil {
		return fmt.Errorf("remove what was set aside: %w", err)
	}
	return nil
}

var (
	errKnownDamaged = disk.Corrupt("it was found before this start")
	errToldDamaged  = disk.Corrupt("the cluster's table says so")
)

// openBoth opens log and state. On one of several nodes, where damage is such that they do
// not open, or concerns all replicas, they are set aside for new ones.
func (s *Store) openBoth(table *wire.Meta, born bool) error {
	if s.repairs == nil {
		return s.stores.open(s.meta.raftID, table, born)
	}
	if err := s.readHeld(table); err != nil {
		return err
	}
	if len(s.held) == 0 || len(s.repairs.ids()) < len(s.held) {
		err := s.stores.open(s.meta.raftID, table, born)
		if !errors.Is(err, ErrCorrupt) || s.onlyCopy(table) {
			return err
		}
		if err := s.condemn(err); err != nil {
			return err
		}
		if err := s.reset(); err != nil {
			return err
		}
	}
	if err := s.setAside(); err != nil {
		return err
	}
	return s.stores.open(s.meta.raftID, table, false)
}

// condemn notes durably that all replicas held are damaged: the next start sets them aside.
func (s *Store) condemn(why error) error {
	s.repairs.noteAll(s.held, why)
	return s.meta.store.setHeld(s.held, s.repairs.ids())
}

// onlyCopy reports whether this node has a range that no other node has, be it under the number
// that it had before a recovery.
func (s *Store) onlyCopy(table *wire.Meta) bool {
	return slices.ContainsFunc(table.GetRanges(), func(r *wire.Range) bool {
		have := s.held[r.Id]
		return len(r.Replicas) == 1 && have != "" && (have == r.Replicas[0] || have == survivorOf(table, r.Replicas[0]))
	})
}
