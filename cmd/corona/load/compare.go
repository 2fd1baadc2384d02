package load

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/loadgen/compare"
	"github.com/seed-91e7e7c1/corona/loadgen/result"
)

const compareLong = `Compare results: each folder holds a result.json, or folders with one for each run;
OUT/a stands for OUT/a-1, OUT/a-2, … as "corona loadgen run --repeat" leaves them.
Intervals come from a bootstrap over runs, and p-values are corrected for the number of
figures (Holm). Exit code 1: a figure is worse beyond chance, and by more than
--fail-over. With one run of a side chance is unknown, and nothing is a regression.`

// NewCompare returns the command that compares results.
func NewCompare() *cobra.Command {
	tolerated, asJSON := percent(0), false
	command := &cobra.Command{
		Use:     "compare A B",
		Short:   "Compare the results of two builds, with what is chance",
		Long:    compareLong,
		Example: "  corona loadgen compare runs-before runs-after --fail-over 5%",
		Args:    cli.WantArgs("A", "B"),
		RunE: func(command *cobra.Command, args []string) error {
			return compareFolders(command.OutOrStdout(), args, float64(tolerated), asJSON)
		},
	}
	command.Flags().Var(&tolerated, "fail-over", "how much worse a figure may be, such as 5%")
	cli.AddJSON(command, &asJSON)
	return command
}

// percent is the value of a flag: a part, written in percent.
type percent float64

func (p *percent) String() string { return strconv.FormatFloat(100*float64(*p), 'g', 6, 64) + "%" }

func (p *percent) Set(text string) error {
	number, found := strings.CutSuffix(text, "%")
	value, err := strconv.ParseFloat(number, 64)
	if !found || err != nil || !(value >= 0 && value <= 1000) {
		return errors.New("want a percentage, such as 5%")
	}
	*p = percent(value / 100)
	return nil
}

func (*percent) Type() string { return "percent" }

func compareFolders(w io.Writer, folders []string, tolerated float64, asJSON bool) error {
	a, err := result.Read(folders[0])
	if err != nil {
		return err
	}
	b, err := result.Read(folders[1])
	if err != nil {
		return err
	}
	if a[0].Scenario != b[0].Scenario {
		return fmt.Errorf("%s is of scenario %s, %s of %s", folders[0], a[0].Scenario, folders[1], b[0].Scenario)
	}
	c := compare.Compare(a, b, tolerated)
	if asJSON {
		err = cli.PrintJSON(w, c)
	} else {
		err = printComparison(w, c)
	}
	if err == nil && c.Regressed() {
		return cli.Exit(cli.ExitNo, nil)
	}
	return err
}

func printComparison(w io.Writer, c *compare.Comparison) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "figure\tA (%d)\tB (%d)\tchange\tB − A, 95 %%\tp\t\n", c.RunsA, c.RunsB)
	for _, f := range c.Figures {
		interval, p, verdict := "", "", ""
		if f.Interval != nil {
			interval, p = number(f.Interval[0])+" to "+number(f.Interval[1]), strconv.FormatFloat(*f.P, 'f', 3, 64)
		}
		if f.Regression {
			verdict = "REGRESSION"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%+.1f %%\t%s\t%s\t%s\n", f.Name, number(f.A), number(f.B), 100*f.Change, interval, p, verdict)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	switch {
	case c.ChanceUnknown:
		fmt.Fprintln(w, "chance is unknown: there is one run of a side")
	case !c.Regressed():
		fmt.Fprintln(w, "no regression beyond chance")
	}
	return nil
}

// printSpread prints figures over several runs.
func printSpread(w io.Writer, ranges []compare.Range) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "figure\tmean\tleast\tmost")
	for _, r := range ranges {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", r.Name, number(r.Mean), number(r.Least), number(r.Most))
	}
	return table.Flush()
}
