package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/internal/datadir"
	"github.com/seed-91e7e7c1/corona/internal/garbage"
	"github.com/seed-91e7e7c1/corona/server"
)

// serveOptions are the flags of corona serve.
type serveOptions struct {
	node        corona.Config
	listen      string
	apiTokens   tokenTexts
	insecureAPI bool
	logLevel    slog.Level
}

func newServeCommand() *cobra.Command {
	var options serveOptions
	command := &cobra.Command{
		Use:   "serve",
		Short: "Run a node: poll, notice changes, deliver them",
		Long: `Runs a node on embedded storage: it polls the URLs that people subscribe to,
notices what really changed, and delivers the difference to streams and webhooks.
The HTTP API and the web page are on --listen.

Polling rates are optimised, again as subscriptions come and go: changes are seen
as soon as possible at the load that all subscribers would cause if each polled by
itself once an --interval. URLs with many subscribers are polled more often, up to
once a --floor; none is polled less than once an interval, unless its origin asks
for that, its host takes no more, or a --budget allows no more.
  --policy lite   least mean wait of a change over subscribers, within --budget
           fast   least load that keeps this wait within --target
           fair, fair-sqrt, fair-log   as lite, weighted as well by how often a
                  channel changes, by the root of that, by its logarithm
  --cost   polls, or bytes: then small documents are polled more often
  --ladder any rate, or only some: prefix:16 are the paper's levels, of which one
           node has only once an interval; geometric:2 are 1, 2, 4, … polls
"corona explain CHANNEL" says why a channel has its rate, "corona status" shows the
node as a whole.

Everything that the node acknowledges is on disk in --data first; it may be
killed at any instant. SIGTERM, Ctrl-C and a terminal that closes (SIGHUP, unless
nohup has it ignored) stop it in order; settings are read at the start alone. One
process at a time can use a data directory. It uses up to 20,000 file descriptors;
with fewer (ulimit -n) it keeps fewer connections open.

The User-Agent names Corona to origins and, with --contact, whom to talk to about
it: give one for a node on the public net.

Without flags it is ready for one person on one machine. Every client that reaches
the API can use it, so a --listen that other machines reach is refused unless requests
need a token: CORONA_API_TOKEN_FILE names a file with one, or with several, on
lines or between commas, while old ones are replaced. Clients send it when
CORONA_TOKEN_FILE names a file that holds it; the page asks for it. Connections
are not encrypted: put a proxy with TLS in front of networks you do not trust.`,
		Example: `  corona serve
  corona serve --data /var/lib/corona --interval 10m --contact https://example.org/bot
  corona serve --policy fast --target 5m    # as little load as keeps changes from waiting longer
  corona serve --budget 50000 --floor 1m    # at most 50,000 polls per interval of 30m
  CORONA_API_TOKEN_FILE=token corona serve --listen 0.0.0.0:8410    # openssl rand -hex 24 > token
  corona serve --allow-private --interval 5s --floor 1s    # against origins on this machine`,
		Args: cli.WantArgs(),
		RunE: func(command *cobra.Command, _ []string) error {
			return serve(command.Context(), options, command.OutOrStdout(), command.ErrOrStderr())
		},
	}
	options.bind(command)
	return command
}

func (o *serveOptions) bind(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&o.node.Data, "data", "corona-data", "data directory")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:8410", "address of the API and the page")
	flags.StringVar(&o.node.Name, "name", "", "node name (default: made once and kept in the data directory)")
	positiveInt(flags, &o.node.Ranges, "ranges", 0, "Raft groups, decided when the data directory is made: another number is refused later (default: what it has, 16 for a new one)")
	positiveDuration(flags, &o.node.Interval, "interval", 30*time.Minute, "polling interval of a channel, 1s at least")
	positiveDuration(flags, &o.node.Floor, "floor", 0, "shortest time between two polls of a channel, at most the interval (default 5m, or the interval if that is shorter)")
	bindPlan(flags, &o.node)
	bindCluster(flags, &o.node.Cluster)
	flags.Var(hostGap{&o.node.HostGap}, "host-gap", "shortest time between two requests to one host; 0: none (default 1s, and none for private and loopback addresses)")
	positiveInt(flags, &o.node.HostParallel, "host-parallel", 2, "requests to one host at a time")
	positiveBytes(flags, &o.node.RetainBytes, "retain-bytes", 1<<30, "bytes of updates kept for slow subscribers, in all")
	positiveBytes(flags, &o.node.DiskReserve, "disk-reserve", 0, "bytes that stay free on the file system of --data: with less, new subscriptions are refused (default a tenth of it, 1 GiB at most)")
	flags.StringVar(&o.node.Contact, "contact", "", "URL or address for publishers, sent in the User-Agent")
	flags.BoolVar(&o.node.AllowPrivate, "allow-private", false, "poll and call private and loopback addresses; hosts there have no gap unless --host-gap is given")
	flags.Var(&o.apiTokens, "api-token", "`TOKEN` that requests need, or several with commas, each of 16 characters at least; better as CORONA_API_TOKEN_FILE=path")
	cli.MarkSecret(command, "api-token")
	flags.BoolVar(&o.insecureAPI, "insecure-api", false, "allow a --listen that other machines reach without a token: everyone there can use the API")
	flags.Var(cli.NamedValue(&o.logLevel, parseLevel), "log-level", "least `level` of what is logged: debug, info, warn or error")
}

func parseLevel(text string) (level slog.Level, err error) {
	if level.UnmarshalText([]byte(text)) != nil {
		err = cli.Wanted("want debug, info, warn or error")
	}
	return level, err
}

// check refuses what can be seen to be wrong before anything is opened; the rest of
// the node's settings, [corona.Open] does. It returns the tokens that requests need.
func (o *serveOptions) check() (server.Tokens, error) {
	tokens, err := o.apiTokens.parse()
	if err != nil {
		return tokens, err
	}
	if o.node.Data == "" { // which a node would take for its default
		return tokens, errors.New("--data: want a directory")
	}
	return tokens, server.CheckListen(o.listen, o.insecureAPI || tokens.Wanted())
}

// stopWithin is the promise that SIGTERM ends the process in time, whatever it is
// busy with; what is not done by then is repeated at the next start.
const stopWithin = 18 * time.Second

// limitStop ends the process when stopWithin has passed since ctx was done, unless
// the function that it returns is called before.
func limitStop(ctx context.Context, logger *slog.Logger) (stopped func()) {
	over, stopped := context.WithCancel(context.Background())
	context.AfterFunc(ctx, func() {
		select {
		case <-over.Done():
		case <-time.After(stopWithin):
			fatal(logger)(errors.New("node did not stop in time"))
		}
	})
	return stopped
}

// serve runs a node until ctx is done. Start: listener, node, server. Stop: the
// server first, so that a node that is closing acknowledges no request.
func serve(ctx context.Context, options serveOptions, out, logs io.Writer) error {
	tokens, err := options.check()
	if err != nil {
		return err
	}
	garbage.Limit(ctx)
	logger := slog.New(slog.NewTextHandler(logs, &slog.HandlerOptions{Level: options.logLevel}))
	listener, err := net.Listen("tcp", options.listen)
	if err != nil {
		// Another node on the same directory explains a busy address best.
		return refused(cmp.Or(datadir.Held(options.node.Data), fmt.Errorf("listen: %w", err)))
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer limitStop(ctx, logger)()
	node, registry, err := openNode(ctx, options, listener.Addr().String(), logger)
	if err != nil && errors.Is(err, context.Cause(ctx)) {
		logger.Info("stopped while starting", "error", err)
		return listener.Close()
	}
	if errors.Is(err, corona.ErrConfig) {
		return errors.Join(err, listener.Close())
	}
	if err != nil {
		return refused(errors.Join(err, listener.Close()))
	}
	front, err := server.New(server.Config{AllowPrivate: options.node.AllowPrivate, Tokens: tokens, Logger: logger}, node, registry)
	if err != nil {
		return refused(errors.Join(err, listener.Close(), node.Close()))
	}
	announce(out, node.Name(), listener.Addr().String(), tokens.Wanted())
	err = front.Run(ctx, listener)
	logger.Info("stopping", "node", node.Name())
	stop() // also when the server ended by itself
	if err := errors.Join(err, node.Close()); err != nil {
		return refused(err)
	}
	return nil
}

// refused is the error of a node that cannot serve, or could not stop in order.
func refused(err error) error { return cli.Exit(cli.ExitUnreachable, err) }

func openNode(ctx context.Context, options serveOptions, listen string, logger *slog.Logger) (*corona.Node, *prometheus.Registry, error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	config := options.node
	config.Listen = listen
	config.Version = versionText()
	config.Logger = logger
	config.Registry = registry
	config.Fatal = fatal(logger)
	node, err := corona.Open(ctx, config)
	return node, registry, err
}

// fatal ends the process at once: for a disk that can no longer be trusted,
// where an orderly stop would write to it.
func fatal(logger *slog.Logger) func(error) {
	return func(err error) {
		logged := make(chan struct{})
		go func() {
			defer close(logged)
			logger.Error("cannot go on", "error", err)
		}()
		select {
		case <-logged:
		case <-time.After(time.Second): // the log may be on the disk that hangs
		}
		os.Exit(cli.ExitUnreachable)
	}
}

func announce(out io.Writer, name, address string, token bool) {
	setting := ""
	if token {
		setting = "CORONA_TOKEN_FILE=path "
	}
	fmt.Fprintf(out, "corona: node %s is on http://%s/  Try: %scorona subscribe%s https://blog.rust-lang.org/feed.xml\n",
		name, address, setting, serverFlag(address))
}

// serverFlag is what a client command needs to find a node that is not where
// clients look first.
func serverFlag(address string) string {
	if address == "127.0.0.1:8410" {
		return ""
	}
	return " --server http://" + address
}
