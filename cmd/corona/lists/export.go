package lists

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
)

const exportLong = `Print the URL of every channel with subscriptions, one a line, or as OPML, as
"corona import" and feed readers take them. --json prints these channels as
"corona channels --json" does.

When the node fails half-way, the exit code is 3, and OPML and JSON are cut, so
that no program takes them for whole.`

const exportExample = `  corona export --opml > feeds.opml
  corona export | corona import - --server http://10.0.0.7:8410
  corona export --json | jq -r '.channels[] | select(.kind == "feed") | .url'`

func NewExport() *cobra.Command {
	var flags cli.NodeFlags
	var opml bool
	cmd := &cobra.Command{
		Use:               "export",
		Short:             "Print the URLs of all channels, as a list or as OPML",
		Long:              exportLong,
		Example:           exportExample,
		Args:              cli.WantArgs(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return export(cmd, &flags, opml) },
	}
	flags.Add(cmd)
	cmd.Flags().BoolVar(&opml, "opml", false, "print OPML 2.0 instead of one URL a line")
	cmd.MarkFlagsMutuallyExclusive("json", "opml")
	return cmd
}

// export prints channels as they come.
func export(cmd *cobra.Command, flags *cli.NodeFlags, opml bool) error {
	client, err := flags.Client()
	if err != nil {
		return err
	}
	defer client.Close()
	list, flush := newExportList(cmd.OutOrStdout(), flags.JSON, opml)
	defer flush()
	for c, err := range client.Channels(cmd.Context()) {
		if err != nil {
			return cli.NodeError(err)
		}
		if c.Subscribers == 0 {
			continue
		}
		if err := list.Add(c); err != nil {
			return err
		}
	}
	return list.Close()
}

// newExportList returns the list in the form that is asked for. It has no end before
// close; flush prints what there is of one for people.
func newExportList(w io.Writer, asJSON, opml bool) (list cli.RowList[api.Channel], flush func() error) {
	if asJSON {
		return cli.NewJSONRows[api.Channel](w, "channels"), func() error { return nil }
	}
	out := bufio.NewWriter(w)
	add, end := exportLine, ""
	if opml {
		add, end = exportOutline, opmlEnd
		out.WriteString(opmlBegin)
	}
	return cli.RowList[api.Channel]{
		Add: func(c api.Channel) error { return add(out, &c) },
		Close: func() error {
			out.WriteString(end)
			return out.Flush()
		},
	}, out.Flush
}

const (
	opmlBegin = xml.Header + `<opml version="2.0">
  <head><title>Corona's channels</title></head>
  <body>
`
	opmlEnd = `  </body>
</opml>
`
)

func exportLine(w io.Writer, c *api.Channel) error {
	_, err := fmt.Fprintln(w, c.URL)
	return err
}

func exportOutline(w io.Writer, c *api.Channel) error {
	outline := struct {
		XMLName xml.Name `xml:"outline"`
		Type    string   `xml:"type,attr,omitempty"`
		Text    string   `xml:"text,attr"`
		URL     string   `xml:"xmlUrl,attr"`
	}{Text: c.URL, URL: c.URL}
	if c.Kind == "feed" {
		outline.Type = "rss"
	}
	encoded, err := xml.Marshal(outline)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "    %s\n", encoded)
	return err
}
