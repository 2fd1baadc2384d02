package main

import (
	"fmt"
	"path/filepath"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/ownership/sharedlog"
)

// shared is Corona's own log, with the settings that a node opens it with.
type shared struct {
	log   *sharedlog.Log
	syncs atomic.Uint64
}

func openPebble(dir string) (*shared, error) {
	s := &shared{}
	counting := errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.OpFileSync, errorfs.OpFileSyncData:
			s.syncs.Add(1)
		}
		return nil
	}))
	var err error
	s.log, err = sharedlog.Open(sharedlog.Config{Dir: filepath.Join(dir, "log"), Files: counting, Logger: quiet{}})
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (s *shared) group(id int) (raft.LogStore, raft.StableStore, error) {
	g, err := s.log.Group(uint32(id))
	return g, g, err
}

func (s *shared) fsyncs() uint64 { return s.syncs.Load() }

func (s *shared) close() error { return s.log.Close() }

// quiet drops pebble's messages, but for what ends the process.
type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}
