// Package server is the node's face: the HTTP API of docs/contract.md, the web
// page, metrics and health, on net/http.
//
// It holds no state of its own. What it adds to a [Node] is everything that
// stands between it and strangers: limits on what is read, deadlines on slow
// clients, checks against web pages that reach for a local node, and one form of
// error, the problem document. DESIGN.md beside the code says why each is as it is.
package server

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Server serves a node over HTTP. [Server.Run] serves a listener until its
// context ends; as an [http.Handler] a Server can be put into another server,
// whose timeouts then count.
type Server struct {
	cfg      Config
	node     Node
	rules    Rules
	log      *slog.Logger
	registry *prometheus.Registry
	metrics  *metrics
	mux      *http.ServeMux
	browsers *http.CrossOriginProtection
	guessers *guessers

	streams *seats
	batches *seats
	copies  *seats // backups and restores

	stopping context.Context // ends when Run begins to stop
	stop     context.CancelFunc
	requests sync.WaitGroup // requests being answered
}

// New returns a server of node. Its metrics go to registry, and /metrics shows
// all that is there; nil is a registry of its own. It starts no goroutine.
func New(cfg Config, node Node, registry *prometheus.Registry) (*Server, error) {
	cfg = cfg.withDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	if registry == nil {
		registry = prometheus.NewRegistry()
	}
	s := &Server{
		cfg:      cfg,
		node:     node,
		rules:    Rules{AllowPrivate: cfg.AllowPrivate},
		log:      cfg.Logger,
		registry: registry,
		metrics:  newMetrics(registry),
		browsers: http.NewCrossOriginProtection(),
		guessers: newGuessers(),
		streams:  newSeats(cfg.MaxStreams),
		batches:  newSeats(cfg.MaxBatches),
		copies:   newSeats(maxCopies),
	}
	s.stopping, s.stop = context.WithCancel(context.Background())
	s.mux = s.routes()
	return s, nil
}

// Run serves the listener until ctx ends, and closes it. Then it stops in
// order: /readyz says no, no connection is accepted, streams and batches end
// where they stand, and other requests have [Config.StopTimeout] to finish. When
// it returns nothing of it runs any more. Its error is a listener that failed.
// It is called once.
func (s *Server) Run(ctx context.Context, listener net.Listener) error {
	requestCtx, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	conns := newConns(s.cfg.MaxConns, s.metrics)
	server := s.httpServer(requestCtx, conns)
	served := make(chan error, 1)
	var serving sync.WaitGroup
	serving.Go(func() { served <- server.Serve(&limitListener{listener, conns}) })
	var err error
	select {
	case err = <-served:
		err = fmt.Errorf("serve HTTP: %w", err)
	case <-ctx.Done():
	}
	s.shutdown(server, abandon)
	serving.Wait()
	s.requests.Wait()
	return err
}

// shutdown lets requests finish, and abandons those that do not.
func (s *Server) shutdown(server *http.Server, abandon context.CancelFunc) {
	s.stop()
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.StopTimeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		s.log.Warn("requests abandoned", "after", s.cfg.StopTimeout, "error", err)
	}
	abandon()
	_ = server.Close() // of what is left
}

func (s *Server) httpServer(requestCtx context.Context, conns *conns) *http.Server {
	return &http.Server{
		Handler:           s,
		ReadHeaderTimeout: s.cfg.HeaderTimeout,
		ReadTimeout:       s.cfg.ReadTimeout,
		WriteTimeout:      s.cfg.WriteTimeout,
		IdleTimeout:       s.cfg.IdleTimeout,
		MaxHeaderBytes:    maxHeader,
		BaseContext:       func(net.Listener) context.Context { return requestCtx },
		ConnState:         conns.state,
		ConnContext:       conns.connContext,
		// "OPTIONS *" is answered like everything else.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     s.errorLog(),
	}
}

// errorLog takes what net/http has to say: mostly clients that broke off.
func (s *Server) errorLog() *log.Logger {
	return slog.NewLogLogger(s.log.Handler(), slog.LevelDebug)
}

// after is a deadline on a connection, whose clock is the operating system's.
func after(d time.Duration) time.Time { return time.Now().Add(d) }
