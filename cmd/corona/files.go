package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
)

// readFile returns the content of a file of at most limit bytes.
func readFile(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(content)) > limit {
		return nil, fmt.Errorf("%s is longer than %d bytes", path, limit)
	}
	return content, nil
}

// interruptible is an input whose reads end when the context does: a terminal, or a
// pipe that somebody holds open, may have nothing to read for ever.
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
		context.AfterFunc(i.ctx, func() { in.CloseWithError(errInterrupted) })
		go func() {
			_, err := io.Copy(in, i.in)
			in.CloseWithError(err)
		}()
	})
	return i.out.Read(p)
}
