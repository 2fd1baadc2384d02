//go:build !linux

package child

import "os/exec"

// dieWithParent does nothing here: a process whose starter is killed lives on.
func dieWithParent(*exec.Cmd) {}
