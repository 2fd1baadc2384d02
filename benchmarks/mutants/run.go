package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// fate is what became of a mutant.
type fate int

const (
	untried fate = iota
	killed
	timedOut
	lived
	unreached // no test runs the code
	refused   // the compiler does
)

func (f fate) String() string {
	return [...]string{"untried", "killed", "timed out", "LIVED", "UNREACHED", "refused"}[f]
}

// binary is an instrumented test binary and its tests.
type binary struct {
	dir   string
	pkg   *source
	path  string
	tests []test // the quickest first
}

// test is one test, and the mutants that it reaches.
type test struct {
	name    string
	took    time.Duration
	reached map[int]bool
}

// compile builds the binary. Mutants that the compiler refuses are dropped.
func (b *binary) compile(ctx context.Context) error {
	b.path = filepath.Join(b.dir, "mutants.test")
	for range 20 {
		overlay, err := b.pkg.write(b.dir)
		if err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, "go", "test", "-c", "-gcflags=-e", "-overlay", overlay, "-o", b.path, b.pkg.path)
		out, err := cmd.CombinedOutput()
		if err == nil {
			b.pkg.mutants = slices.DeleteFunc(b.pkg.mutants, func(m mutant) bool { return m.fate == refused })
			return nil
		}
		if b.refuse(string(out)) == 0 {
			return fmt.Errorf("compile: %w\n%s", err, out)
		}
	}
	return errors.New("compile: too many mutants that do not compile")
}

var complaint = regexp.MustCompile(`(?m)([^/\s:]+\.go):(\d+):\d+:`)

// refuse drops the mutants on the lines that the compiler complains of.
func (b *binary) refuse(out string) int {
	n := 0
	for _, match := range complaint.FindAllStringSubmatch(out, -1) {
		line, _ := strconv.Atoi(match[2])
		for i := range b.pkg.mutants {
			m := &b.pkg.mutants[i]
			if m.fate != refused && filepath.Base(m.where.Filename) == match[1] && m.where.Line == line {
				m.fate = refused
				n++
				fmt.Fprintln(os.Stderr, "refused", m)
			}
		}
	}
	return n
}

// probe runs each test alone without mutants and notes what it reaches. Tests that
// fail so, or take too long, are left out.
func (b *binary) probe(ctx context.Context, c config) error {
	skip, err := regexp.Compile(c.skip)
	if err != nil {
		return err
	}
	out, err := b.command(ctx, "-test.list", ".*").Output()
	if err != nil {
		return fmt.Errorf("list tests: %w", err)
	}
	for _, name := range strings.Fields(string(out)) {
		if strings.HasPrefix(name, "Benchmark") || c.skip != "" && skip.MatchString(name) {
			continue
		}
		t, err := b.probeOne(ctx, name, c.each)
		if err != nil {
			fmt.Fprintf(os.Stderr, "left out %s: %v\n", name, err)
			continue
		}
		b.tests = append(b.tests, t)
	}
	slices.SortFunc(b.tests, func(x, y test) int { return cmp.Compare(x.took, y.took) })
	return ctx.Err()
}

func (b *binary) probeOne(ctx context.Context, name string, each time.Duration) (test, error) {
	reached := filepath.Join(b.dir, "reached")
	t := test{name: name, reached: make(map[int]bool)}
	ctx, cancel := context.WithTimeout(ctx, 4*each)
	defer cancel()
	cmd := b.command(ctx, "-test.run", "^"+name+"$")
	cmd.Env = append(cmd.Env, "MUTANTS_REACHED="+reached)
	begun := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return t, fmt.Errorf("%w: %s", err, bytes.TrimSpace(out[:min(len(out), 300)]))
	}
	if t.took = time.Since(begun); t.took > each {
		return t, fmt.Errorf("takes %v", t.took.Round(time.Millisecond))
	}
	f, err := os.Open(reached)
	if err != nil {
		return t, err
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		id, _ := strconv.Atoi(s.Text())
		t.reached[id] = true
	}
	return t, nil
}

// try runs the tests that reach a mutant: the quickest half together, then the next
// tests, and those that take longer than slow one by one.
func (b *binary) try(ctx context.Context, id int) fate {
	var reach []test
	for _, t := range b.tests {
		if t.reached[id] {
			reach = append(reach, t)
		}
	}
	if len(reach) == 0 {
		return unreached
	}
	for len(reach) > 0 {
		n := together(reach)
		if f := b.with(ctx, id, reach[:n]); f != lived {
			return f
		}
		reach = reach[n:]
	}
	return lived
}

// slow is from when on a test is run alone.
const slow = 200 * time.Millisecond

// together returns how many of the next tests are run in one process.
func together(tests []test) int {
	half := (len(tests) + 1) / 2
	for n, t := range tests[:half] {
		if t.took > slow {
			return max(n, 1)
		}
	}
	return half
}

// with runs tests with a mutant.
func (b *binary) with(ctx context.Context, id int, tests []test) fate {
	names, limit := make([]string, len(tests)), 5*time.Second
	for i, t := range tests {
		names[i], limit = t.name, limit+8*t.took
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := b.command(limited, "-test.failfast", "-test.run", "^("+strings.Join(names, "|")+")$")
	cmd.Env = append(cmd.Env, "MUTANT="+strconv.Itoa(id))
	err := cmd.Run()
	switch {
	case err == nil:
		return lived
	case limited.Err() != nil:
		return timedOut
	}
	return killed
}

func (b *binary) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, b.path, args...)
	cmd.Dir, cmd.Env = b.pkg.dir, append(os.Environ(), "GOMAXPROCS=1", "RAPID_NOFAILFILE=true")
	return cmd
}
