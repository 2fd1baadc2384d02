//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A badCell is what the program says to a file whose last row is bad.
type badCell struct {
	Channels int    `json:"channels"`
	Row      string `json:"row"`
	Code     int    `json:"code"`
	Said     string `json:"said"`
}

// badRows are rows that no solution can be built on, by what is wrong with them.
var badRows = []string{
	"https://example.org/bad,,100,3600,,,",                  // missing
	"https://example.org/bad,-1,100,3600,,,",                // negative
	"https://example.org/bad,1,NaN,3600,,,",                 // no number
	"https://example.org/bad,1,100,soon,,,",                 // text
	"https://example.org/0/feed.xml,1,100,3600,,,",          // there already
	"https://example.org/bad,1,100,3600",                    // short
	"https://example.org/bad,1,100,3600,,,0x10",             // text, in a column that may be empty
	"https://example.org/bad,1,100,3600,,,\"1",              // an open quote
	"https://example.org/bad,1,1e999,3600,,,",               // out of range
	"https://example.org/bad,1,100,3600,,,,one field more.", // long
}

// spoil appends bad rows to a file, one after the other, and holds that the
// program refuses each with code 2 and the line.
func (s *scenario) spoil(ctx context.Context, path string, rows int) error {
	whole, err := os.Stat(path)
	if err != nil {
		return err
	}
	defer os.Truncate(path, whole.Size())
	for _, row := range badRows {
		if err := appendLine(path, whole.Size(), row); err != nil {
			return err
		}
		out, err := exec.CommandContext(ctx, s.binary, "solve", "--in", path).CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			return err
		}
		bad := badCell{Channels: rows, Row: row, Said: strings.TrimSpace(string(out))}
		if exit != nil {
			bad.Code = exit.ExitCode()
		}
		bad.Said = strings.ReplaceAll(bad.Said, s.folder+string(filepath.Separator), "")
		if line := fmt.Sprintf("line %d", rows+2); bad.Code != 2 || !strings.Contains(bad.Said, line) {
			return fmt.Errorf("row %q in line %d: code %d, %s", row, rows+2, bad.Code, bad.Said)
		}
		s.result.BadRows = append(s.result.BadRows, bad)
	}
	return nil
}

// appendLine makes a line the only one behind a file's first bytes.
func appendLine(path string, size int64, line string) error {
	if err := os.Truncate(path, size); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(line + "\n")
	return errors.Join(err, file.Close())
}
