package main

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/api"
)

const exportLong = `Print the URL of every channel that somebody subscribes to, one a line, or as
OPML: what "corona import" and feed readers take.`

const exportExample = `  corona export --opml > feeds.opml
  corona export | corona import - --server http://10.0.0.7:8410`

func newExportCommand() *cobra.Command {
	var flags nodeFlags
	var opml bool
	cmd := &cobra.Command{
		Use:               "export",
		Short:             "Print the URLs of all channels, as a list or as OPML",
		Long:              exportLong,
		Example:           exportExample,
		Args:              wantArgs(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return export(cmd, &flags, opml) },
	}
	flags.addServer(cmd)
	cmd.Flags().BoolVar(&opml, "opml", false, "print OPML 2.0 instead of one URL a line")
	return cmd
}

// export prints channels as they come. When the node fails half-way the OPML
// has no end, so that nobody takes it for whole.
func export(cmd *cobra.Command, flags *nodeFlags, opml bool) error {
	client, err := flags.client()
	if err != nil {
		return err
	}
	defer client.Close()
	out := bufio.NewWriter(cmd.OutOrStdout())
	defer out.Flush()
	add, end := exportLine, ""
	if opml {
		add, end = exportOutline, opmlEnd
		io.WriteString(out, opmlBegin)
	}
	for c, err := range client.Channels(cmd.Context()) {
		if err != nil {
			return nodeError(err)
		}
		if c.Subscribers == 0 {
			continue
		}
		if err := add(out, &c); err != nil {
			return err
		}
	}
	io.WriteString(out, end)
	return out.Flush()
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
