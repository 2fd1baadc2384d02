package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/garbage"
	"github.com/seed-91e7e7c1/corona/internal/members"
	"github.com/seed-91e7e7c1/corona/internal/peer"
	"github.com/seed-91e7e7c1/corona/ownership"
)

// nodeArgument is the first argument of a process that is a Corona node; the second is
// the file with its nodeConfig.
const nodeArgument = "node"

// Paths that a node answers: commands on its address for clients, the others on that
// for the benchmark.
const (
	subscribePath = "/subscribe"
	leadsPath     = "/leads"
	profilePath   = "/debug/pprof/profile"
)

// nodeConfig is what a Corona node is told.
type nodeConfig struct {
	Name             string
	Dir, Certs       string
	Ranges, Replicas int // a replica on each node
	Peers, Gossip    string
	Join             []string // gossip of all nodes
	Clients, Admin   string   // HTTPS for commands, HTTP for the benchmark
	Lifetime         time.Duration
}

// runNode is the process of a node: it ends at SIGTERM, or when its time is over, should
// the benchmark have been killed.
func runNode(file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var config nodeConfig
	if err := json.Unmarshal(content, &config); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, config.Lifetime)
	defer cancel()
	garbage.Limit(ctx)
	n := &node{config: config, metrics: prometheus.NewRegistry()}
	return errors.Join(n.run(ctx), n.close())
}

// node is a store and the connections to it.
type node struct {
	config  nodeConfig
	metrics *prometheus.Registry
	store   *ownership.Store
	members *members.Members
	self    members.Member
}

func (n *node) run(ctx context.Context) error {
	if err := n.open(ctx); err != nil {
		return err
	}
	clients, err := net.Listen("tcp", n.config.Clients)
	if err != nil {
		return err
	}
	admin, err := net.Listen("tcp", n.config.Admin)
	if err != nil {
		return errors.Join(err, clients.Close())
	}
	commands := &http.Server{Handler: n.commandHandler(), ErrorLog: nil}
	figures := &http.Server{Handler: n.adminHandler()}
	var serving sync.WaitGroup
	certificate, key := filepath.Join(n.config.Certs, addressFile), filepath.Join(n.config.Certs, addressKeyFile)
	serving.Go(func() { _ = commands.ServeTLS(clients, certificate, key) }) // ends with Close
	serving.Go(func() { _ = figures.Serve(admin) })
	<-ctx.Done()
	err = errors.Join(commands.Close(), figures.Close())
	serving.Wait()
	return err
}

func (n *node) open(ctx context.Context) error {
	credentials, err := peer.LoadCredentials(n.config.Certs, n.config.Name, time.Now)
	if err != nil {
		return err
	}
	key, err := peer.LoadGossipKey(n.config.Certs)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", n.config.Peers)
	if err != nil {
		return err
	}
	connect := func(self peer.Identity, admit func(peer.Identity) error) (*peer.Node, error) {
		if err := n.meet(self, key); err != nil {
			return nil, err
		}
		return peer.New(peer.Config{Self: self, Credentials: credentials, Admit: admit, Registerer: n.metrics})
	}
	n.store, err = ownership.Open(ctx, ownership.Config{
		Dir: n.config.Dir, Node: n.config.Name, Ranges: n.config.Ranges, Replicas: n.config.Replicas,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)), Registerer: n.metrics,
		Cluster: &ownership.Cluster{
			Connect: connect, Listener: listener, Address: n.config.Peers, Expect: n.config.Replicas,
			Seen: n.seen, Joined: n.joined,
		},
	})
	return err
}

// meet makes the node known to the others by gossip, as corona serve does.
func (n *node) meet(self peer.Identity, key []byte) (err error) {
	n.self = members.Member{
		ID: self.ID, Name: self.Name, Address: n.config.Peers, Cluster: self.Cluster,
		Fresh: self.Cluster == "", Expect: n.config.Replicas,
	}
	n.members, err = members.Open(members.Config{Self: n.self, Bind: n.config.Gossip, Join: n.config.Join, Key: key})
	return err
}

func (n *node) seen() (others []ownership.Candidate) {
	for _, m := range n.members.List() {
		if m.ID != n.self.ID && m.State == members.Alive {
			others = append(others, ownership.Candidate{ID: m.ID, Name: m.Name, Address: m.Address, Cluster: m.Cluster})
		}
	}
	return others
}

func (n *node) joined(cluster string) error {
	n.self.Cluster, n.self.Fresh, n.self.Expect = cluster, false, 0
	return n.members.Update(n.self)
}

func (n *node) close() (err error) {
	if n.store != nil {
		err = n.store.Close()
	}
	if n.members != nil {
		err = errors.Join(err, n.members.Close())
	}
	return err
}

func (n *node) commandHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+subscribePath, func(w http.ResponseWriter, r *http.Request) {
		if err := n.subscribe(r); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
	return mux
}

// subscribe carries out a request of subscriptions: its answer is status 200.
func (n *node) subscribe(r *http.Request) error {
	body, err := io.ReadAll(io.LimitReader(r.Body, 2*mostSize))
	if err != nil {
		return err
	}
	text, webhook, _ := strings.Cut(string(body), "\n")
	canonical, id, err := channel.Parse(text)
	if err != nil {
		return err
	}
	wish := ownership.NewSubscription{
		URL: canonical, Channel: id,
		Sink: channel.Sink{Type: channel.SinkWebhook, URL: webhook, Secret: sinkSecret},
	}
	return n.store.Subscribe(r.Context(), []ownership.NewSubscription{wish})[0].Err
}

func (n *node) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(n.metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET "+profilePath, pprof.Profile)
	mux.HandleFunc("GET "+leadsPath, func(w http.ResponseWriter, _ *http.Request) {
		if err := n.store.Ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		leads := 0
		for _, r := range n.store.Ranges() {
			if r.Leader == n.config.Name {
				leads++
			}
		}
		fmt.Fprint(w, leads)
	})
	return mux
}
