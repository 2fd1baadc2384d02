package child

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel kill a process when the one that started it has ended,
// however that happened (prctl(2), PR_SET_PDEATHSIG).
func dieWithParent(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
