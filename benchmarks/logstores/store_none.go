package main

import "github.com/hashicorp/raft"

// memory keeps nothing on disk: the line that no store can pass, since all it
// leaves is the work of raft, its transport and the clients. It forgets with its
// process, so its cells end without a recovery.
type memory struct{}

func (memory) group(int) (raft.LogStore, raft.StableStore, error) {
	store := raft.NewInmemStore()
	return store, unset{store}, nil
}

func (memory) fsyncs() uint64 { return 0 }
func (memory) close() error   { return nil }

// unset answers as the other stores do when there is no value.
type unset struct{ *raft.InmemStore }

func (u unset) Get(key []byte) ([]byte, error) {
	value, err := u.InmemStore.Get(key)
	if err != nil {
		return nil, nil // its only error
	}
	return value, nil
}
