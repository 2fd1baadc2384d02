package ownership

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
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
