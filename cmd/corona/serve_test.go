package main

import (
	"context"
	"path/filepath"
	"testing"
)

func TestServeStoppedWhileStartingIsDone(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	data := filepath.Join(t.TempDir(), "data")
	for range 2 { // in a new directory, and in one that a stop left half made
		got := runCorona(ctx, "", "serve", "--data", data, "--listen", "127.0.0.1:0")
		if got.code != exitDone || got.out != "" {
			t.Errorf("exit code %d, printed %q, said %q; want %d and no word of a node", got.code, got.out, got.errs, exitDone)
		}
	}
}
