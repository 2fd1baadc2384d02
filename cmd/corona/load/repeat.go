package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/loadgen/compare"
	"github.com/seed-91e7e7c1/corona/loadgen/result"
	"github.com/seed-91e7e7c1/corona/loadgen/scenario"
)

// comparisonFile is the comparison of the runs in a folder.
const comparisonFile = "compare.json"

// series is what several runs found, by the letter of their side: b is this build; a is the
// other one, or this build where there is no other.
type series struct {
	A          []*result.Result    `json:"a"`
	B          []*result.Result    `json:"b,omitempty"`
	Comparison *compare.Comparison `json:"comparison,omitempty"`
}

// of returns the results of a side.
func (s *series) of(side byte) *[]*result.Result {
	if side == 'a' {
		return &s.A
	}
	return &s.B
}

// ok reports whether this build's runs are OK, no run was limited by the generator, and
// nothing is worse than in the other build.
func (s *series) ok() bool {
	for _, r := range s.A {
		if r.Generator.Limited || r.Interrupted || s.Comparison == nil && !r.OK() {
			return false
		}
	}
	for _, r := range s.B {
		if !r.OK() {
			return false
		}
	}
	return s.Comparison == nil || !s.Comparison.Regressed()
}

// repeat runs a scenario several times, of two builds by turns where there is another one.
func (f *runFlags) repeat(command *cobra.Command, name string, s *scenario.Scenario, binary string) error {
	if err := result.Make(f.out); err != nil {
		return err
	}
	programs := map[byte]string{'a': binary}
	if f.against != "" {
		folder, err := os.MkdirTemp("", "corona-programs-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(folder)
		if programs, err = copies(folder, f.against, binary); err != nil {
			return err
		}
	}
	ctx, out, runs := command.Context(), command.OutOrStdout(), new(series)
	for _, turn := range compare.Turns(f.runs, f.against != "") {
		outcome, err := f.once(command, name, s, programs[turn.Side], filepath.Join(f.out, turn.String()))
		if err != nil {
			return err
		}
		of := runs.of(turn.Side)
		*of = append(*of, outcome.Result)
		if !f.json {
			fmt.Fprintln(out, brief(turn, outcome.Result))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return f.finish(ctx, out, runs)
}

// copies copies two programs into a folder and returns them by side. A node's memory counts the
// pages of its program that are in the page cache: of a program that the generator runs too, or
// that was written otherwise, these are others. One build beside itself had 4 % more as b.
func copies(folder, a, b string) (map[byte]string, error) {
	programs := make(map[byte]string)
	for side, from := range map[byte]string{'a': a, 'b': b} {
		content, err := os.ReadFile(from)
		if err != nil {
			return nil, err
		}
		to := filepath.Join(folder, string(side), "corona")
		if err := os.Mkdir(filepath.Dir(to), 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(to, content, 0o700); err != nil {
			return nil, err
		}
		programs[side] = to
	}
	return programs, nil
}

// finish compares, writes and prints.
func (f *runFlags) finish(ctx context.Context, out io.Writer, runs *series) error {
	if len(runs.B) > 0 {
		runs.Comparison = compare.Compare(runs.A, runs.B, float64(f.tolerated))
		if err := writeComparison(f.out, runs.Comparison); err != nil {
			return err
		}
	}
	if err := f.printSeries(out, runs); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return cli.ErrInterrupted
	}
	if !runs.ok() {
		return cli.Exit(cli.ExitNo, nil)
	}
	return nil
}

func (f *runFlags) printSeries(out io.Writer, runs *series) (err error) {
	switch {
	case f.json:
		return cli.PrintJSON(out, runs)
	case runs.Comparison != nil:
		err = printComparison(out, runs.Comparison)
	default:
		err = printSpread(out, compare.Spread(runs.A))
	}
	if err == nil {
		_, err = fmt.Fprintf(out, "results in %s\n", cli.Clean(f.out))
	}
	return err
}

func writeComparison(folder string, c *compare.Comparison) error {
	content, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, comparisonFile), append(content, '\n'), 0o644)
}

// brief is a run in a line.
func brief(turn compare.Turn, r *result.Result) string {
	text := fmt.Sprintf("%-5s %.1f polls/s of %.1f, %d updates missed, delivery p99 %s, %.1f µs a poll", turn, r.PollsPerS, r.PlannedPollsPerS, r.UpdatesMissed, ms(r.Delivery.P99), r.CPUPerPollUs)
	for _, v := range r.Thresholds {
		if !v.OK {
			text += ", BROKEN " + v.Name + " " + number(v.Limit)
		}
	}
	if r.Generator.Limited {
		text += ", limited by the generator"
	}
	return text
}

// checkRepeat refuses what cannot be repeated.
func (f *runFlags) checkRepeat(s *scenario.Scenario) error {
	const most = 1000
	switch {
	case f.runs < 1 || f.runs > most:
		return fmt.Errorf("--repeat %d: want 1 to %d", f.runs, most)
	case f.against == "":
		return nil
	case len(s.Target) > 0:
		return errors.New("--against: the scenario names a target, whose program is not the generator's to choose")
	}
	info, err := os.Stat(f.against)
	if err == nil && (info.IsDir() || info.Mode()&0o111 == 0) {
		err = errors.New("no program")
	}
	if err != nil {
		return fmt.Errorf("--against %s: %w", f.against, err)
	}
	f.against, err = filepath.Abs(f.against)
	return err
}
