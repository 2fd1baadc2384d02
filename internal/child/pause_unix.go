//go:build unix

package child

import (
	"fmt"
	"syscall"
)

// Pause suspends the process (SIGSTOP) until [Process.Resume]. One that ended before is
// [ErrEnded].
func (p *Process) Pause() error { return p.signal(syscall.SIGSTOP) }

// Resume lets a suspended process go on.
func (p *Process) Resume() error { return p.signal(syscall.SIGCONT) }

func (p *Process) signal(signal syscall.Signal) error {
	if err := p.Alive(); err != nil {
		return err
	}
	if err := p.process.Process.Signal(signal); err != nil {
		return fmt.Errorf("%s to %s: %w", signal, p.args[0], err)
	}
	return nil
}
