// Package solve is corona solve: it reads a CSV file of channels, solves for their
// polling rates with package honeycomb and writes the rates. The reader splits the file
// into blocks and parses them in parallel; view.go shows where the time went.
package solve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/honeycomb"
)

func NewCommand() *cobra.Command {
	var flags solveFlags
	cmd := &cobra.Command{
		Use:     "solve --in FILE.csv",
		Short:   "Solve for the best polling rates of a file of channels",
		Long:    long,
		Example: example,
		Args:    cli.WantArgs(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
	}
	flags.bind(cmd)
	return cmd
}

// run solves, says what was found, and shows the profile when asked to.
func (f *solveFlags) run(cmd *cobra.Command) (err error) {
	config, err := f.config(cmd.Flags())
	if err != nil {
		return err
	}
	if err := f.checkFiles(); err != nil {
		return err
	}
	profiler, err := f.profiles.start(cmd.Context())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, profiler.close()) }()

	s := &solver{config: config, files: f.solveFiles, stdin: cmd.InOrStdin(), progress: newSolveProgress(cmd.ErrOrStderr(), f.source())}
	err = s.repeat(cmd.Context(), f.repeat)
	s.progress.close()
	if err != nil {
		return err
	}
	if err := profiler.stop(); err != nil {
		return err
	}
	for _, name := range s.input.unused {
		fmt.Fprintf(cmd.ErrOrStderr(), "corona: %s: column %q means nothing to a solve\n", f.source(), name)
	}
	result := s.result()
	if err := f.print(cmd.OutOrStdout(), s, result); err != nil {
		return err
	}
	if err := profiler.view(cmd.Context(), cmd.ErrOrStderr()); err != nil {
		return err
	}
	if !result.Feasible {
		return cli.Exit(cli.ExitNo, nil)
	}
	return nil
}

func (f *solveFlags) print(w io.Writer, s *solver, result solveResult) error {
	if f.json {
		return cli.PrintJSON(w, result)
	}
	return printSolve(w, s, result)
}

// solver solves the same problem once or several times, and keeps what the last
// time left.
type solver struct {
	config honeycomb.Config
	files  solveFiles
	stdin  io.Reader

	progress *solveProgress

	input    *solveInput
	problem  *honeycomb.Problem
	solution *honeycomb.Solution

	times  []phaseTimes
	sorted []float64 // milliseconds
}

// phaseTimes are milliseconds.
type phaseTimes struct {
	Read    float64 `json:"read"`
	Prepare float64 `json:"prepare"`
	Solve   float64 `json:"solve"`
	Write   float64 `json:"write"`
}

func (s *solver) repeat(ctx context.Context, times int) error {
	for range times {
		if err := s.once(ctx); err != nil {
			return err
		}
		s.sorted = append(s.sorted, sortTime(s.input.channels.Len()))
	}
	return nil
}

// once goes through all phases. Each is labelled in profiles. What was read from
// standard input is not read again.
func (s *solver) once(ctx context.Context) error {
	var times phaseTimes
	s.problem = nil
	steps := []struct {
		name string
		time *float64
		do   func() error
	}{
		{"read", &times.Read, func() error { return s.read(ctx) }},
		{"prepare", &times.Prepare, func() (err error) {
			s.problem, err = honeycomb.Prepare(s.config, s.input.channels)
			return err
		}},
		{"solve", &times.Solve, func() error { s.solution = s.problem.Solve(); return nil }},
		{"write", &times.Write, s.write},
	}
	for _, step := range steps {
		if ctx.Err() != nil {
			return cli.ErrInterrupted
		}
		var err error
		s.progress.phase(step.name)
		begun := time.Now()
		pprof.Do(ctx, pprof.Labels("phase", step.name), func(context.Context) { err = step.do() })
		if err != nil {
			return err
		}
		*step.time = milliseconds(time.Since(begun))
	}
	if s.files.in == "-" && len(s.times) > 0 {
		times.Read = s.times[0].Read
	}
	s.times = append(s.times, times)
	return nil
}

// read reads the channels, and clears up behind itself: the phases that follow
// are not to pay for it.
func (s *solver) read(ctx context.Context) (err error) {
	keep := solveColumns{sizes: s.config.Cost == honeycomb.Bytes, hosts: s.config.HostCap > 0}
	if s.files.in == "-" {
		if s.input != nil {
			return nil
		}
		s.input, err = readChannels(ctx, s.files.source(), s.stdin, 0, keep, s.progress.at)
		runtime.GC()
		return err
	}
	s.input = nil
	file, err := os.Open(s.files.in)
	if err != nil {
		return err
	}
	defer file.Close()
	size := int64(0)
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		size = info.Size()
	}
	s.progress.of(size)
	s.input, err = readChannels(ctx, s.files.source(), file, size, keep, s.progress.at)
	runtime.GC()
	return err
}

func (s *solver) write() error {
	if s.files.out == "" {
		return nil
	}
	return writeRates(s.files.out, s.input.names, s.config, s.problem)
}

// sortTime returns the milliseconds that sorting as many random numbers takes.
func sortTime(n int) float64 {
	numbers := make([]float64, n)
	for i := range numbers {
		numbers[i] = rand.Float64()
	}
	begun := time.Now()
	slices.Sort(numbers)
	return milliseconds(time.Since(begun))
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// median sorts values. Of an even number it is the mean of the middle two.
func median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

func medianOf(times []phaseTimes, field func(phaseTimes) float64) float64 {
	values := make([]float64, len(times))
	for i, t := range times {
		values[i] = field(t)
	}
	return median(values)
}
