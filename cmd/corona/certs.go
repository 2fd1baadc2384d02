package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/internal/peer"
)

const certsLong = `Make the credentials of a cluster's nodes: a private CA, a certificate and key for
each node name, and the key that encrypts their gossip. It runs on
one machine, before the nodes are started, and needs no node.

The directory then holds
  ca.pem                   the CA's certificate: every node needs it
  gossip.key               the gossip's key: every node needs it
  NAME.pem, NAME-key.pem   certificate and key of node NAME: that node needs them
  ca-key.pem               stays here: with it, certificates for more nodes can be made
Copy its four files to each node, into the directory that "corona serve --certs" names
there. NAME is the node's --name, 1 to 64 letters, digits, dots, hyphens and
underscores, a letter or digit first. A certificate names no address: a node may move.

A second call with other names adds their certificates; what is there stays as it is.
The CA is good for ten years, a certificate for two. To renew one, delete NAME.pem,
call the command again and copy the new file to the node, which reads it without a
restart. The key stays, unless NAME-key.pem is deleted too.`

// madeCerts is what the command prints as JSON.
type madeCerts struct {
	Dir   string     `json:"dir"`
	CA    bool       `json:"ca_made"`
	Key   bool       `json:"gossip_key_made"`
	Nodes []nodeCert `json:"nodes"`
}

type nodeCert struct {
	Name  string    `json:"name"`
	Made  bool      `json:"made"`
	Until time.Time `json:"until"`
	Files []string  `json:"files"` // that the node needs
}

func newCertsCommand() *cobra.Command {
	var dir string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "certs NAME…",
		Short: "Make a CA, and a certificate for each node of a cluster",
		Long:  certsLong,
		Example: `  corona certs n1 n2 n3
  corona certs --dir /etc/corona/certs n4    # adds a node
  scp corona-certs/{ca.pem,gossip.key,n1.pem,n1-key.pem} n1:/etc/corona/certs/`,
		Args:              cli.WantArgs("NAME…"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, names []string) error {
			made, err := makeCerts(dir, names, time.Now())
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(cmd.OutOrStdout(), made)
			}
			return printCerts(cmd.OutOrStdout(), made)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "corona-certs", "directory of the certificates, made when it is not there")
	cli.AddJSON(cmd, &asJSON)
	return cmd
}

func makeCerts(dir string, names []string, now time.Time) (madeCerts, error) {
	if dir == "" {
		return madeCerts{}, fmt.Errorf("--dir: want a directory")
	}
	issued, err := peer.MakeCertificates(dir, names, now)
	if err != nil {
		return madeCerts{}, err
	}
	made := madeCerts{Dir: dir, Nodes: make([]nodeCert, 0, len(issued.Nodes)), CA: issued.CA}
	if made.Key, err = peer.MakeGossipKey(dir); err != nil {
		return made, err
	}
	for _, node := range issued.Nodes {
		files := append(peer.NodeFiles(node.Name), peer.GossipFile)
		made.Nodes = append(made.Nodes, nodeCert{node.Name, node.Made, node.Until.UTC(), files})
	}
	return made, nil
}

func printCerts(w io.Writer, made madeCerts) error {
	var b strings.Builder
	state := func(now bool) string {
		if now {
			return "made"
		}
		return "was there"
	}
	fmt.Fprintf(&b, "CA %s, gossip key %s, in %s\n", state(made.CA), state(made.Key), cli.Clean(made.Dir))
	for _, node := range made.Nodes {
		fmt.Fprintf(&b, "%s: certificate %s, good until %s; the node needs %s\n",
			node.Name, state(node.Made), node.Until.Format(time.DateOnly), strings.Join(node.Files, " "))
	}
	fmt.Fprintf(&b, "Copy each node's files into the directory that its --certs names. %s stays here.\n",
		cli.Clean(filepath.Join(made.Dir, peer.CAKeyFile)))
	_, err := io.WriteString(w, b.String())
	return err
}
