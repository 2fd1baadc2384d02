package main

import (
	"github.com/spf13/pflag"

	"github.com/seed-91e7e7c1/corona"
)

// bindCluster adds the flags of a node that is one of several.
func bindCluster(flags *pflag.FlagSet, c *corona.ClusterConfig) {
	flags.StringVar(&c.Address, "cluster", "", "`HOST:PORT` that other nodes reach this one on (default: a node alone, nothing listens for others)")
	flags.StringVar(&c.Gossip, "gossip", "", "`HOST:PORT`, TCP and UDP, by which nodes find each other; needed with --cluster")
	flags.StringSliceVar(&c.Join, "join", nil, "`HOST:PORT` of other nodes' --gossip, several with commas; this node's own may be among them")
	positiveInt(flags, &c.BootstrapExpect, "bootstrap-expect", 0, "how many fresh nodes found a cluster together; nodes with data rejoin theirs, fresh ones that see a cluster join it (default: none, wait for one to join)")
	positiveInt(flags, &c.Replicas, "replicas", 0, "nodes that each range lives on, 1 to 7, decided when the cluster is founded (default 3)")
	positiveDuration(flags, &c.ReplaceAfter, "replace-after", 0, "how long a node may give no answer until what it has of ranges is made on others, 10s or more (default 10m)")
	flags.StringVar(&c.Egress, "egress", "", "`LABEL` of the address that origins see, for nodes that share one")
	positiveInt(flags, &c.FanOut, "fan-out", 0, "pollers of a channel that a node tells of a new version directly; more are told along a tree, 1 to 1024 (default 32)")
	flags.StringVar(&c.Certs, "certs", "", "`directory` with this node's certificates and gossip.key (see corona certs --help)")
	flags.BoolVar(&c.Insecure, "insecure-cluster", false, "without --certs, take --cluster and --gossip addresses that other machines reach: what reaches them can read and change everything")
}
