package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
)

const defaultServer = "http://127.0.0.1:8410"

// nodeFlags are the flags of every command that talks to a node.
type nodeFlags struct {
	server string
	token  string
	json   bool
}

func (f *nodeFlags) add(cmd *cobra.Command) {
	f.addServer(cmd)
	addJSON(cmd, &f.json)
}

func (f *nodeFlags) addServer(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.server, "server", defaultServer, "`URL` of a node; any of a cluster will do")
	cmd.Flags().StringVar(&f.token, "token", "", "API `TOKEN` of the node, if it wants one; better as CORONA_TOKEN_FILE=path")
	markSecret(cmd, "token")
}

func addJSON(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "json", false, "print JSON for programs")
}

// client returns a client of the node that the flags name. An error is wrong
// usage: --server is no URL, or --token no token.
func (f *nodeFlags) client() (*api.Client, error) {
	client, err := api.NewClient(f.server, nil)
	if err != nil || f.token == "" {
		return client, err
	}
	return client.WithToken(f.token)
}

// parseChannel reads CHANNEL: an ID, or the URL that it stands for.
func parseChannel(text string) (channel.ID, error) {
	if id, err := channel.ParseID(text); err == nil {
		return id, nil
	}
	_, id, err := channel.Parse(text)
	return id, err
}

// parseChannels reads several, in their order.
func parseChannels(names []string) ([]channel.ID, error) {
	ids := make([]channel.ID, len(names))
	for i, name := range names {
		id, err := parseChannel(name)
		if err != nil {
			return nil, err
		}
		ids[i] = id
	}
	return ids, nil
}

// timeText is how people see a time; "-" for none.
func timeText(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}
