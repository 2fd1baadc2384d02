// Package cli is what the commands of corona share: how a command runs and ends (exit
// codes, interruptible input), the flags of commands that talk to a node, and how
// results are printed (tables, JSON, updates, text from the Web made safe).
package cli

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/spf13/cobra"
)

// Run executes a command and returns the exit code. What went wrong is said in
// one line.
func Run(ctx context.Context, root *cobra.Command) int {
	root.SetIn(&interruptible{ctx: ctx, in: root.InOrStdin()})
	err := root.ExecuteContext(ctx)
	if err != nil && err.Error() != "" {
		fmt.Fprintln(root.ErrOrStderr(), "corona:", OneLine(err.Error()))
	}
	return ExitCode(err)
}

// interruptible is an input whose reads end when the context does: a terminal, or a
// pipe that another process keeps open, may have nothing to read for ever.
type interruptible struct {
	ctx   context.Context
	in    io.Reader
	begin sync.Once
	out   *io.PipeReader
}

// Read implements [io.Reader]. What reads the input is started by the first call, and
// cannot be waited for: it ends with the input, or with the process.
func (i *interruptible) Read(p []byte) (int, error) {
	i.begin.Do(func() {
		out, in := io.Pipe()
		i.out = out
		context.AfterFunc(i.ctx, func() { in.CloseWithError(ErrInterrupted) })
		go func() {
			_, err := io.Copy(in, i.in)
			in.CloseWithError(err)
		}()
	})
	return i.out.Read(p)
}
