//go:build linux

package main

import (
	"encoding/binary"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/benchmarks/internal/cluster"
)

// stateOf writes a state at an entry, with a record of each bucket.
func stateOf(t *testing.T, dir string, applied uint64, records map[uint16]string) {
	t.Helper()
	db, err := pebble.Open(filepath.Join(dir, statesPath), &pebble.Options{Logger: silentLogger{}})
	if err != nil {
		t.Fatal(err)
	}
	for bucket, value := range records {
		err = errors.Join(err, db.Set(append(binary.BigEndian.AppendUint16(nil, bucket), "c1"...), []byte(value), nil))
	}
	for id := range uint32(2) {
		record := protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.VarintType), 77)
		record = protowire.AppendVarint(protowire.AppendTag(record, 1, protowire.VarintType), applied)
		key := append(binary.BigEndian.AppendUint16(nil, systemBucket), kindApplied)
		err = errors.Join(err, db.Set(binary.BigEndian.AppendUint32(key, id), record, nil))
	}
	if err := errors.Join(err, db.Flush(), db.Close()); err != nil {
		t.Fatal(err)
	}
}

// Replicas agree, are at different entries, differ, or lie where they should not.
func TestCompare(t *testing.T) {
	both := map[uint16]string{5: "a", 4095: "b"}
	for name, test := range map[string]struct {
		applied  uint64 // of the second node
		records  map[uint16]string
		replicas []string // of range 1
		apart    int
		fails    string
	}{
		"equal":               {9, both, []string{"n1", "n2"}, 0, ""},
		"other entries":       {8, map[uint16]string{5: "a"}, []string{"n1", "n2"}, 2, ""},
		"another value":       {9, map[uint16]string{5: "a", 4095: "c"}, []string{"n1", "n2"}, 0, ruleStates + ": range 1 at entry 9"},
		"a record less":       {9, map[uint16]string{4095: "b"}, []string{"n1", "n2"}, 0, ruleStates + ": range 0 at entry 9"},
		"a replica left over": {9, both, []string{"n1"}, 0, ruleRemoved + ": n2 has 1 records of range 1"},
	} {
		t.Run(name, func(t *testing.T) {
			nodes := []*cluster.Node{{Name: "n1", Data: t.TempDir()}, {Name: "n2", Data: t.TempDir()}}
			stateOf(t, nodes[0].Data, 9, both)
			stateOf(t, nodes[1].Data, test.applied, test.records)
			r := &run{out: io.Discard, fleet: newFleet(nodes, "", "", false)}
			apart, err := r.compare([]api.Range{
				{ID: 0, From: 0, To: 2047, Replicas: []string{"n1", "n2"}}, {ID: 1, From: 2048, To: 4095, Replicas: test.replicas},
			})
			if len(apart) != test.apart || (err != nil) != (test.fails != "") || err != nil && !strings.Contains(err.Error(), test.fails) {
				t.Errorf("%v, %v; want %d apart, %q", apart, err, test.apart, test.fails)
			}
		})
	}
}
