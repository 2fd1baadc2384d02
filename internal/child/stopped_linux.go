package child

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// Stopped reports whether every thread of a process has stopped, or is gone: after
// SIGSTOP each does when it is next about to run.
func Stopped(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return false
	}
	for _, thread := range threads {
		if state := StateOf(thread); state != 't' && state != 'T' && state != 0 && state != 'Z' {
			return false
		}
	}
	return true
}

// StateOf reads the state of a process or thread from its stat file (proc(5)); 0 when it
// is gone.
func StateOf(stat string) byte {
	text, err := os.ReadFile(stat)
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(text, []byte(") ")) // behind the name
	if len(rest) == 0 {
		return 0
	}
	return rest[0]
}
