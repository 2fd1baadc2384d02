package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
)

// version is stamped into releases:
//
//	go build -ldflags "-X main.version=v1.2.3" ./cmd/corona
//
// Without it the version is what the Go tool recorded of the module.
var version string

// build is what is known of this program.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"` // built from more than the commit
	Time     string `json:"time,omitempty"`     // of the commit, RFC 3339
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// versionText is the version of this program, as the status of a node shows it.
func versionText() string { return thisBuild().Version }

func thisBuild() build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return buildOf(version, info)
}

// buildOf reads what the Go tool recorded; stamped, when not empty, is the
// version all the same.
func buildOf(stamped string, info *debug.BuildInfo) build {
	recorded := info.Main.Version
	if recorded == "(devel)" {
		recorded = ""
	}
	b := build{
		Version:  cmp.Or(stamped, recorded, "devel"),
		Go:       runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.Commit = setting.Value
		case "vcs.time":
			b.Time = setting.Value
		case "vcs.modified":
			b.Modified = setting.Value == "true"
		}
	}
	return b
}

// String is the line that people see.
func (b build) String() string {
	text := "corona " + b.Version
	if b.Commit != "" {
		text += " (" + b.Commit[:min(12, len(b.Commit))]
		if b.Modified {
			text += ", modified"
		}
		text += ")"
	}
	return text + " " + b.Go + " " + b.Platform
}

func newVersionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Long: `Print the version of this program, the commit that it was built from, and the Go
that built it. "corona status" prints the version of a running node.`,
		Example:           "  corona version\n  corona version --json | jq -r .version",
		Args:              cli.WantArgs(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return cli.PrintJSON(cmd.OutOrStdout(), thisBuild())
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), thisBuild())
			return err
		},
	}
	cli.AddJSON(cmd, &asJSON)
	return cmd
}
