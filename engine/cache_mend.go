package engine

import (
	"context"
	"errors"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/volume"
)

// asideFolder is where, in the cache's directory, the files of a store lie that could
// not be opened.
const asideFolder = "damaged"

// setAside moves the files of a damaged store to asideFolder, in the place of what
// was set aside before, and leaves the ledger. A file that cannot be moved is removed.
// What a crash leaves between the two is another damaged store.
func setAside(config Config, damage error) error {
	aside := config.fs.PathJoin(config.Dir, asideFolder)
	config.Logger.Error("content cache is damaged: it is set aside, and its contents are fetched again",
		"dir", config.Dir, "aside", aside, "error", damage)
	names, err := config.fs.List(config.Dir)
	if err != nil {
		return err
	}
	if err := errors.Join(config.fs.RemoveAll(aside), config.fs.MkdirAll(aside, 0o755)); err != nil {
		return err
	}
	for _, name := range names {
		if name != ledgerFile && name != asideFolder {
			err = errors.Join(err, moveOrRemove(config, name, aside))
		}
	}
	return err
}

func moveOrRemove(config Config, name, to string) error {
	path := config.fs.PathJoin(config.Dir, name)
	if config.fs.Rename(path, config.fs.PathJoin(to, name)) == nil {
		return nil
	}
	return config.fs.RemoveAll(path)
}

// asideEvery is how often it is looked whether there is room for what is set aside.
const asideEvery = 10 * time.Second

// mendCache cuts out what the cache can no longer read, until the context ends: it is
// fetched again. A compaction that meets damage would be tried for ever. A store that
// was set aside is kept for whoever wants to know why, until its room is needed.
func (e *Engine) mendCache(ctx context.Context) {
	ticker := time.NewTicker(asideEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case found := <-e.cache.damaged:
			e.config.Logger.Error("content cache is damaged: a part of it is dropped, and its contents are fetched again", "path", found.path)
			e.metrics.cacheCut.Inc()
			e.cacheFailed("drop what is damaged", e.cache.cut(ctx, found))
		case <-ticker.C:
			if e.config.Volume.Level() != volume.OK {
				e.dropAside()
			}
		}
	}
}

// dropAside removes what was set aside, if there is something.
func (e *Engine) dropAside() {
	files := e.config.fs
	aside := files.PathJoin(e.config.Dir, asideFolder)
	if _, err := files.Stat(aside); err != nil {
		return
	}
	if err := files.RemoveAll(aside); err != nil {
		e.config.Logger.Warn("what was set aside of the content cache cannot be removed", "dir", aside, "error", err)
		return
	}
	e.config.Logger.Info("what was set aside of the content cache is removed: its room is needed", "dir", aside)
}
