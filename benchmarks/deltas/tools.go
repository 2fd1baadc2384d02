//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// toolFigures are what a tool makes of the same contents, totals over updates.
type toolFigures struct {
	Tool    string  `json:"tool"`
	Bytes   int     `json:"bytes"`   // its own frame and checksum included
	Seconds float64 `json:"seconds"` // of the processor, the start of its process included
}

// tool is a command line, run in a directory with the contents as files base and
// next. What it writes is its delta.
type tool struct {
	name, line string
	needs      []string // programs
}

// tools are those that -tools names.
var tools = map[string]tool{
	"zstd":    {"zstd --patch-from -19", "zstd -q -19 --patch-from=base -c next", []string{"zstd"}},
	"xdelta3": {"xdelta3 -9", "xdelta3 -9 -e -c -s base next", []string{"xdelta3"}},
	"diff":    {"diff -u0 | zstd -19", "diff -a -u0 --label base --label next base next | zstd -q -19 -c", []string{"diff", "zstd"}},
}

// namedTools returns the tools of a list with commas.
func namedTools(names string) ([]tool, error) {
	var named []tool
	for name := range strings.FieldsFuncSeq(names, func(r rune) bool { return r == ',' }) {
		t, ok := tools[name]
		if !ok {
			return nil, fmt.Errorf("-tools: %q is none of zstd, xdelta3, diff", name)
		}
		for _, program := range t.needs {
			if _, err := exec.LookPath(program); err != nil {
				return nil, fmt.Errorf("%s is not installed (Debian: zstd, xdelta3, diffutils); -tools names the tools to run", program)
			}
		}
		named = append(named, t)
	}
	return named, nil
}

func runTools(tools []tool, steps []step) ([]toolFigures, error) {
	dir, err := os.MkdirTemp("", "deltas")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	all := make([]toolFigures, len(tools))
	for i, t := range tools {
		all[i].Tool = t.name
	}
	for _, s := range steps {
		if s.Update == nil {
			continue
		}
		if err := writeContents(dir, s); err != nil {
			return nil, err
		}
		for i := range all {
			if err := all[i].add(dir, tools[i].line); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

func writeContents(dir string, s step) error {
	if err := os.WriteFile(filepath.Join(dir, "base"), s.current.Content(), 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "next"), s.Core.Content(), 0o600)
}

// add runs a tool once.
func (f *toolFigures) add(dir, line string) error {
	cmd := exec.Command("sh", "-c", line)
	var out, failed bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &failed
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", line, err, failed.String())
	}
	f.Bytes += out.Len()
	f.Seconds += (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	return nil
}
