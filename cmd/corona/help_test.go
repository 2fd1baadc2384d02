package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// helpWidth is the longest line of a help text, in characters; flags and examples, which
// are copied, may be longer.
const helpWidth = 88

// TestHelp: every command explains itself, with an example that is one of its own, in
// lines that fit a terminal.
func TestHelp(t *testing.T) {
	var walk func(*cobra.Command)
	commands := 0
	walk = func(cmd *cobra.Command) {
		for _, child := range cmd.Commands() {
			walk(child)
		}
		if !cmd.Runnable() {
			return
		}
		commands++
		if cmd.Short == "" || cmd.Long == "" {
			t.Errorf("%s: no explanation", cmd.CommandPath())
		}
		if !strings.Contains(cmd.Example, cmd.CommandPath()) {
			t.Errorf("%s: no example of it in %q", cmd.CommandPath(), cmd.Example)
		}
		for line := range strings.Lines(cmd.Long) {
			if n := utf8.RuneCountInString(line); n > helpWidth {
				t.Errorf("%s: a line of %d characters: %s", cmd.CommandPath(), n, line)
			}
		}
	}
	walk(newRootCommand())
	if commands < 24 {
		t.Errorf("%d commands: the walk went nowhere", commands)
	}
}
