package main

import (
	"context"
	"flag"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/clitest"
)

// runCorona runs the program as main does.
func runCorona(ctx context.Context, stdin string, args ...string) clitest.Outcome {
	return clitest.Run(ctx, newRootCommand(), stdin, args...)
}

// runBetween is runCorona between an input and an output of the test's own.
func runBetween(ctx context.Context, in io.Reader, out io.Writer, args ...string) clitest.Outcome {
	return clitest.RunBetween(ctx, newRootCommand(), in, out, args...)
}

// TestMain takes away the settings of whoever runs the tests. With [asProgram] the
// binary is the program: for tests that need a process.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	flag.Parse()
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, envPrefix) {
			os.Unsetenv(name)
		}
	}
	os.Exit(m.Run())
}
