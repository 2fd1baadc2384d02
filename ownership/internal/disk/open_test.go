package disk

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// TestOpenFindsDamage: a file of another length, or that is missing, is damage; what the
// operating system refuses is not.
func TestOpenFindsDamage(t *testing.T) {
	for _, test := range []struct {
		name    string
		suffix  string
		damage  func(files *vfs.MemFS, path string) error
		refuse  error
		corrupt bool
	}{
		{name: "whole"},
		{name: "file gone", suffix: ".sst", corrupt: true, damage: func(files *vfs.MemFS, path string) error { return files.Remove(path) }},
		{name: "file cut", suffix: ".sst", corrupt: true, damage: func(files *vfs.MemFS, path string) error {
			file, err := files.Create(path, vfs.WriteCategoryUnspecified)
			return errors.Join(err, file.Close())
		}},
		{name: "no access", refuse: syscall.EACCES},
		{name: "input/output error", refuse: syscall.EIO},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := vfs.NewMem()
			options := func(fs vfs.FS) *pebble.Options {
				return &pebble.Options{FS: fs, FormatMajorVersion: Format, Logger: &said{}}
			}
			db, err := Open("db", options(files))
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(db.Set([]byte("key"), []byte("value"), pebble.Sync), db.Flush(), db.Close()); err != nil {
				t.Fatal(err)
			}
			names, err := files.List("db")
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				if test.damage != nil && strings.HasSuffix(name, test.suffix) {
					if err := test.damage(files, files.PathJoin("db", name)); err != nil {
						t.Fatal(err)
					}
				}
			}
			refusing := errorfs.Wrap(files, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if op.Kind == errorfs.OpOpen && strings.Contains(op.Path, "MANIFEST") {
					return test.refuse
				}
				return nil
			}))
			db, err = Open("db", options(refusing))
			if errors.Is(err, ErrCorrupt) != test.corrupt || (err == nil) != (test.refuse == nil && !test.corrupt) {
				t.Errorf("error %v, damage: %v", err, test.corrupt)
			}
			if err == nil {
				err = db.Close()
			}
			if test.refuse != nil && !errors.Is(err, test.refuse) {
				t.Errorf("error %v, want %v", err, test.refuse)
			}
		})
	}
}
