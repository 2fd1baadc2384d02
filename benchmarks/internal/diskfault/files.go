package diskfault

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
)

// ahead is how many files of each kind a store may make while it is traced.
const ahead = 16

// storeKinds are the files that pebble makes, by the number that they share.
var storeKinds = []string{"%06d.log", "%06d.sst", "%06d.blob", "MANIFEST-%06d"}

// Files returns the regular files below a folder, and those that its stores will
// make next: strace fails files by their names, and pebble counts its own.
func Files(folder string) ([]string, error) {
	root, err := filepath.EvalSymlinks(folder) // strace compares with what the kernel calls them
	if err != nil {
		return nil, err
	}
	if root, err = filepath.Abs(root); err != nil {
		return nil, err
	}
	var files []string
	newest := make(map[string]int) // by folder
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil // what is gone by now needs no fault
		}
		files = append(files, path)
		if number, ok := numberOf(entry.Name()); ok {
			dir := filepath.Dir(path)
			newest[dir] = max(newest[dir], number)
		}
		return nil
	})
	for dir, number := range newest {
		for next := number + 1; next <= number+ahead; next++ {
			for _, kind := range storeKinds {
				files = append(files, filepath.Join(dir, fmt.Sprintf(kind, next)))
			}
		}
	}
	return files, err
}

// numberOf returns a store file's number.
func numberOf(name string) (number int, ok bool) {
	digits, _, _ := strings.Cut(strings.TrimPrefix(name, "MANIFEST-"), ".")
	number, err := strconv.Atoi(digits)
	return number, err == nil && number > 0
}
