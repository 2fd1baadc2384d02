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
	"github.com/seed-91e7e7c1/corona/internal/datadir"
	"github.com/seed-91e7e7c1/corona/server"
)

// serveOptions are the flags of corona serve.
type serveOptions struct {
	node        corona.Config
	listen      string
	insecureAPI bool
	logLevel    slog.Level
}

func newServeCommand() *cobra.Command {
	var options serveOptions
	command := &cobra.Command{
		Use:   "serve",
		Short: "Run a node: poll, notice changes, deliver them",
		Long: `Runs a node on embedded storage: it polls the URLs that people subscribe to, once
an interval, notices what really changed, and delivers the difference to streams
and webhooks. The HTTP API and the web page are on --listen.

Everything that the node acknowledges is on disk in --data first; it may be
killed at any instant. One process at a time can use a data directory.

Without flags it is ready for one person on one machine. Whoever can reach the
API can use it, so a --listen that other machines reach is refused.`,
		Example: `  corona serve
  corona serve --data /var/lib/corona --interval 10m --contact https://example.org/bot
  corona serve --allow-private --interval 5s --floor 1s    # against origins on this machine`,
		Args: cobra.NoArgs,
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
	flags.IntVar(&o.node.Ranges, "ranges", 16, "Raft groups; counts when the data directory is made")
	flags.DurationVar(&o.node.Interval, "interval", 30*time.Minute, "polling interval of a channel, 1s at least")
	flags.DurationVar(&o.node.Floor, "floor", 0, "shortest time between two polls of a channel (default 5m, or the interval if that is shorter)")
	flags.DurationVar(&o.node.HostGap, "host-gap", 0, "shortest time between two requests to one host")
	flags.IntVar(&o.node.HostParallel, "host-parallel", 2, "requests to one host at a time")
	flags.Uint64Var(&o.node.RetainBytes, "retain-bytes", 1<<30, "bytes of updates kept for slow subscribers, in all")
	flags.StringVar(&o.node.Contact, "contact", "", "URL or address for publishers, sent in the User-Agent")
	flags.BoolVar(&o.node.AllowPrivate, "allow-private", false, "poll and call private and loopback addresses; hosts there have no gap unless --host-gap is given")
	flags.BoolVar(&o.insecureAPI, "insecure-api", false, "allow a --listen that other machines reach: everybody there can use the API")
	flags.TextVar(&o.logLevel, "log-level", slog.LevelInfo, "debug, info, warn or error")
}

// check refuses what the node would take for a default: nobody asks for 0.
func (o *serveOptions) check() error {
	switch {
	case o.node.Interval <= 0:
		return fmt.Errorf("--interval %s: want 1s at least", o.node.Interval)
	case o.node.Ranges < 1:
		return fmt.Errorf("--ranges %d: want 1 at least", o.node.Ranges)
	case o.node.HostParallel < 1:
		return fmt.Errorf("--host-parallel %d: want 1 at least", o.node.HostParallel)
	case o.node.RetainBytes == 0:
		return errors.New("--retain-bytes 0: want 1 at least")
	case o.node.Data == "":
		return errors.New("--data: want a directory")
	}
	return server.CheckListen(o.listen, o.insecureAPI)
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
// server first, so that nobody is acknowledged by a node that is closing.
func serve(ctx context.Context, options serveOptions, out, logs io.Writer) error {
	if err := options.check(); err != nil {
		return err
	}
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
	front, err := server.New(server.Config{AllowPrivate: options.node.AllowPrivate, Logger: logger}, node, registry)
	if err != nil {
		return refused(errors.Join(err, listener.Close(), node.Close()))
	}
	announce(out, node.Name(), listener.Addr().String())
	err = front.Run(ctx, listener)
	logger.Info("stopping", "node", node.Name())
	stop() // also when the server ended by itself
	if err := errors.Join(err, node.Close()); err != nil {
		return refused(err)
	}
	return nil
}

// refused is the error of a node that cannot serve, or could not stop in order.
func refused(err error) error { return &exitError{code: exitUnreachable, err: err} }

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
		logger.Error("cannot go on", "error", err)
		os.Exit(exitUnreachable)
	}
}

func announce(out io.Writer, name, address string) {
	fmt.Fprintf(out, "corona: node %s is on http://%s/  Try: corona subscribe%s https://blog.rust-lang.org/feed.xml\n",
		name, address, serverFlag(address))
}

// serverFlag is what a client command needs to find a node that is not where
// clients look first.
func serverFlag(address string) string {
	if address == "127.0.0.1:8410" {
		return ""
	}
	return " --server http://" + address
}
