package server

import (
	"context"
	"net/http"
	"strings"
	"time"
)

// A handler answers a request, or returns the error that is to be answered. It
// returns no error once it has begun its answer.
type handler func(http.ResponseWriter, *http.Request) error

// The routes that last: how long says nothing about the node.
const (
	routeBatch   = "POST /v1/subscriptions:batch"
	routeStream  = "GET /v1/updates"
	routeBackup  = "GET /v1/backup"
	routeRestore = "POST /v1/restore"
)

var lasting = []string{routeBatch, routeStream, routeBackup, routeRestore}

// The actions on one item, behind its name. The mux knows only whole segments, so
// handlers cut them off.
const (
	actionTest    = ":test"
	actionForget  = ":forget"
	actionDrain   = ":drain"
	actionRemove  = ":remove"
	actionUndrain = ":undrain"
	actionRecover = ":recover"
)

// routes is the API at a glance. A call is answered within a time, so its
// context ends with it; what is long keeps deadlines of its own.
func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	call := func(pattern string, h handler) { mux.Handle(pattern, s.call(s.cfg.CallTimeout, h)) }
	long := func(pattern string, h handler) { mux.Handle(pattern, s.answer(h)) }

	long("POST /v1/subscriptions", s.subscribe)
	long(routeBatch, s.batch)
	call("GET /v1/subscriptions", s.listSubscriptions)
	call("GET /v1/subscriptions/{id}", s.subscription)
	call("DELETE /v1/subscriptions/{id}", s.unsubscribe)
	mux.Handle("POST /v1/subscriptions/{action}", s.call(s.cfg.TestTimeout, s.testSink))
	call("/v1/subscriptions/{item}", noMethod(actionTest, "DELETE, GET, HEAD"))

	call("GET /v1/channels", s.listChannels)
	call("GET /v1/channels/{id}", s.channel)
	call("POST /v1/channels/{action}", s.forget)
	call("/v1/channels/{item}", noMethod(actionForget, "GET, HEAD"))
	call("GET /v1/channels/{id}/explain", s.explain)
	long("GET /v1/channels/{id}/updates", s.channelUpdates)
	long(routeStream, s.stream)
	call("GET /v1/status", s.status)
	call("GET /v1/nodes", s.nodes)
	call("POST /v1/nodes/{action}", s.changeNode)
	mux.Handle("GET /v1/ranges/{id}/recovery", s.call(recoverTimeout, s.planRecovery))
	call("POST /v1/ranges:split", s.splitRanges)
	mux.Handle("POST /v1/ranges/{action}", s.call(recoverTimeout, s.recoverRange))
	long(routeBackup, s.backup)
	long(routeRestore, s.restore)

	call("GET /healthz", s.healthy)
	call("GET /readyz", s.ready)
	mux.Handle("GET /metrics", s.metricsPage())
	long("GET /debug/pprof/{$}", s.listProfiles)
	long("GET /debug/pprof/{name}", s.profile)
	for pattern, h := range s.page() {
		mux.Handle(pattern, h)
	}
	return mux
}

// noMethod refuses what neither an item nor its action has a method for: the mux, which
// does not tell them apart, would name the methods of both.
func noMethod(action, methods string) handler {
	return func(_ http.ResponseWriter, r *http.Request) error {
		if strings.HasSuffix(r.PathValue("item"), action) {
			return methodNotAllowed(r, http.MethodPost)
		}
		return methodNotAllowed(r, methods)
	}
}

// call is answer for a handler that must be done within a time.
func (s *Server) call(timeout time.Duration, h handler) http.Handler {
	return s.answer(func(w http.ResponseWriter, r *http.Request) error {
		// The answer has its own time after the node's.
		extendWrite(w, timeout+s.cfg.WriteTimeout)
		ctx, cancel := context.WithTimeout(r.Context(), timeout)
		defer cancel()
		return h(w, r.WithContext(ctx))
	})
}

// answer is the one place where a handler's error becomes an answer.
func (s *Server) answer(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			s.fail(w, r, err)
		}
	})
}

// extendWrite puts off the end of the answer. Writers without deadlines, as in
// tests, have nothing to put off.
func extendWrite(w http.ResponseWriter, d time.Duration) {
	_ = http.NewResponseController(w).SetWriteDeadline(after(d))
}
