package witness

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/seed-91e7e7c1/corona/internal/child"
)

// Stacks returns the first line of each stack that the last process printed, and those that say
// that a request panicked, which ends no process.
func Stacks(p *child.Process) (lines []string, err error) {
	err = eachLine(p, func(line string) {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") || strings.Contains(line, "request panicked") {
			lines = append(lines, line)
		}
	})
	return lines, err
}

// LastWords returns why the last process ended, as it said.
func LastWords(p *child.Process) (said string, err error) {
	err = eachLine(p, func(line string) { said = lastWords(said, line) })
	return said, err
}

// lastWords is the last line, or the one that says why the process cannot go on:
// others of its goroutines may still print something behind that.
func lastWords(said, line string) string {
	if strings.Contains(said, FailedMessage) {
		return said
	}
	return line
}

func eachLine(p *child.Process, do func(line string)) error {
	printed, err := p.Printed()
	if err != nil {
		return err
	}
	defer printed.Close()
	for lines := bufio.NewReader(printed); ; {
		line, err := lines.ReadString('\n')
		if line != "" {
			do(strings.TrimSuffix(line, "\n"))
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("log of the node: %w", err)
		}
	}
}
