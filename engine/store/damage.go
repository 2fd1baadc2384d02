package store

import (
	"context"
	"errors"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

// damage is a file of the cache that cannot be read, with the run of keys that it
// holds, the last one included.
type damage struct {
	path        string
	first, last []byte
}

// isDamaged is called by pebble with a file that it cannot read. Pebble by itself would
// end the process, at each start again. While one file is being removed, others are
// reported again when they are read.
func (c *Cache) isDamaged(info pebble.DataCorruptionInfo) {
	select {
	case c.damaged <- damage{info.Path, slices.Clone(info.Bounds.Start), slices.Clone(info.Bounds.End.Key)}:
	default:
	}
}

// cut removes all that the cache holds where a file is damaged, and with it the files
// that lie there, without reading them.
func (c *Cache) cut(ctx context.Context, d damage) error {
	return c.db.Excise(ctx, pebble.KeyRange{Start: d.first, End: append(d.last, 0)})
}

// AsideFolder is where, in [Config.Dir], the files of a store lie that could not be
// opened.
const AsideFolder = "damaged"

// setAside moves the files of a damaged store, except the ledger, to AsideFolder, whose
// earlier files it removes. A file that cannot be moved is removed. A crash in between
// leaves a damaged store, which is set aside again.
func setAside(config Config, damage error) error {
	aside := config.FS.PathJoin(config.Dir, AsideFolder)
	config.Logger.Error("content cache is damaged: it is set aside, and its contents are fetched again",
		"dir", config.Dir, "aside", aside, "error", damage)
	names, err := config.FS.List(config.Dir)
	if err != nil {
		return err
	}
	if err := errors.Join(config.FS.RemoveAll(aside), config.FS.MkdirAll(aside, 0o755)); err != nil {
		return err
	}
	for _, name := range names {
		if name != LedgerFile && name != AsideFolder {
			err = errors.Join(err, moveOrRemove(config, name, aside))
		}
	}
	return err
}

func moveOrRemove(config Config, name, to string) error {
	path := config.FS.PathJoin(config.Dir, name)
	if config.FS.Rename(path, config.FS.PathJoin(to, name)) == nil {
		return nil
	}
	return config.FS.RemoveAll(path)
}

// dropAside removes what was set aside, if there is something.
func dropAside(config Config) {
	aside := config.FS.PathJoin(config.Dir, AsideFolder)
	if _, err := config.FS.Stat(aside); err != nil {
		return
	}
	if err := config.FS.RemoveAll(aside); err != nil {
		config.Logger.Warn("what was set aside of the content cache cannot be removed", "dir", aside, "error", err)
		return
	}
	config.Logger.Info("what was set aside of the content cache is removed: its room is needed", "dir", aside)
}
