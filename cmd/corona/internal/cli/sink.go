package cli

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/api"
)

// SinkFlags say where updates go.
type SinkFlags struct {
	sink   string
	secret string
}

const SinkHelp = `SINK is where updates go:
  sse            clients read them with "corona watch" or GET /v1/updates (default)
  webhook:URL    the node POSTs each update to URL, in the form of Standard Webhooks`

// Add adds --sink and --secret to a command.
func (f *SinkFlags) Add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.sink, "sink", api.SinkSSE, "where updates go: `SINK` is sse or webhook:URL")
	cmd.Flags().StringVar(&f.secret, "secret", "", "`KEY`, whsec_ and base64, that signs what a webhook gets; better as CORONA_SECRET_FILE=path")
	MarkSecret(cmd, "secret")
}

// Parse returns the sink. What it refuses is wrong on any node.
func (f *SinkFlags) Parse() (api.Sink, error) {
	kind, rest, _ := strings.Cut(f.sink, ":")
	sink := api.Sink{Type: kind, Secret: f.secret}
	switch {
	case f.sink == api.SinkSSE:
	case kind == api.SinkWebhook:
		if u, err := url.Parse(rest); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return api.Sink{}, fmt.Errorf("--sink %q: want webhook: and an http or https URL", f.sink)
		}
		sink.URL = rest
	default:
		return api.Sink{}, fmt.Errorf("--sink %q: want sse or webhook:URL", f.sink)
	}
	if f.secret != "" && kind != api.SinkWebhook {
		return api.Sink{}, fmt.Errorf("--secret signs webhooks; --sink is %s", f.sink)
	}
	return sink, nil
}

// SinkText is how people see a sink.
func SinkText(sink api.Sink) string {
	if sink.Type == api.SinkWebhook {
		return sink.Type + ":" + sink.URL
	}
	return sink.Type
}
