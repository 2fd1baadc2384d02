package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// The files of a result's folder.
const (
	File   = "result.json"
	Raw    = "raw.jsonl.zst"
	Report = "report.html"
)

// ErrTaken is a folder that holds something already.
var ErrTaken = errors.New("the folder is not empty, and nothing is overwritten")

// Make makes a folder for a result, or takes an empty one.
func Make(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(folder)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("--out %s: %w", folder, ErrTaken)
	}
	return err
}

// Write writes result.json.
func (r *Result) Write(folder string) error {
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, File), append(content, '\n'), 0o644)
}

// maxFile bounds a result.json that is read, in bytes.
const maxFile = 16 << 20

// Read reads the results of a folder: its result.json, or those of the folders in it. out/a
// that is no folder stands for out/a-1, out/a-2 and so on. They come in the order of their
// folders' names.
func Read(folder string) ([]*Result, error) {
	files, err := find(folder)
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	results := make([]*Result, 0, len(files))
	for _, file := range files {
		r, err := readFile(file)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

// find returns the names of the files.
func find(folder string) ([]string, error) {
	for _, pattern := range []string{File, filepath.Join("*", File)} {
		files, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil || len(files) > 0 {
			return files, err
		}
	}
	if _, err := os.Stat(folder); err == nil {
		return nil, fmt.Errorf("%s: no %s there, nor in its folders", folder, File)
	}
	files, err := filepath.Glob(filepath.Join(folder+"-[0-9]*", File))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s: no such folder, nor %s-1", folder, folder)
	}
	return files, err
}

func readFile(file string) (*Result, error) {
	info, err := os.Stat(file)
	if err == nil && info.Size() > maxFile {
		err = fmt.Errorf("%s: longer than %d bytes", file, maxFile)
	}
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r := new(Result)
	if err := json.Unmarshal(content, r); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if r.Scenario == "" {
		return nil, fmt.Errorf("%s: no result of a scenario", file)
	}
	return r, nil
}
