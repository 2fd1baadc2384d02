package load

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/loadgen/scenario"
)

// NewScenarios returns the command that lists scenarios.
func NewScenarios() *cobra.Command {
	var print string
	command := &cobra.Command{
		Use:   "scenarios",
		Short: "List the scenarios that are built in, or print one as YAML",
		Long: `List the scenarios that "corona loadgen run" knows by name, each with its question, or
print one: changed, it is a scenario of your own.`,
		Example: "  corona loadgen scenarios\n  corona loadgen scenarios --print smoke > mine.yaml",
		Args:    cli.WantArgs(),
		RunE: func(command *cobra.Command, _ []string) error {
			if print != "" {
				return printScenario(command, print)
			}
			for _, name := range scenario.Builtin() {
				fmt.Fprintf(command.OutOrStdout(), "%-18s %s\n", name, question(name))
			}
			return nil
		},
	}
	command.Flags().StringVar(&print, "print", "", "`name` of a scenario to print as YAML")
	return command
}

func printScenario(command *cobra.Command, name string) error {
	text, known := scenario.Text(name)
	if !known {
		return fmt.Errorf("--print %q: no such scenario; there are %s", name, strings.Join(scenario.Builtin(), ", "))
	}
	_, err := command.OutOrStdout().Write(text)
	return err
}

// question returns what a scenario asks: the comment on its first line.
func question(name string) string {
	text, _ := scenario.Text(name)
	line, _, _ := strings.Cut(string(text), "\n")
	_, comment, _ := strings.Cut(line, "#")
	return strings.TrimSpace(comment)
}
