package cli

import (
	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
)

const defaultServer = "http://127.0.0.1:8410"

// NodeFlags are the flags of every command that talks to a node.
type NodeFlags struct {
	server string
	token  string
	JSON   bool
}

// Add adds --server, --token and --json to a command.
func (f *NodeFlags) Add(cmd *cobra.Command) {
	f.addServer(cmd)
	AddJSON(cmd, &f.JSON)
}

func (f *NodeFlags) addServer(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.server, "server", defaultServer, "`URL` of a node; any of a cluster will do")
	AddToken(cmd, &f.token)
}

// AddToken adds --token to a command that asks a node.
func AddToken(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "token", "", "API `TOKEN` of the node, if it wants one; better as CORONA_TOKEN_FILE=path")
	MarkSecret(cmd, "token")
}

// AddJSON adds --json to a command.
func AddJSON(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "json", false, "print JSON for programs")
}

// Client returns a client of the node that the flags name. An error is wrong
// usage: --server is no URL, or --token no token.
func (f *NodeFlags) Client() (*api.Client, error) {
	client, err := api.NewClient(f.server, nil)
	if err != nil || f.token == "" {
		return client, err
	}
	return client.WithToken(f.token)
}

// ParseChannel reads CHANNEL: an ID, or the URL that it stands for.
func ParseChannel(text string) (channel.ID, error) {
	if id, err := channel.ParseID(text); err == nil {
		return id, nil
	}
	_, id, err := channel.Parse(text)
	return id, err
}

// ParseChannels reads several, in their order.
func ParseChannels(names []string) ([]channel.ID, error) {
	ids := make([]channel.ID, len(names))
	for i, name := range names {
		id, err := ParseChannel(name)
		if err != nil {
			return nil, err
		}
		ids[i] = id
	}
	return ids, nil
}
