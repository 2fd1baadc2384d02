package server

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
)

func (s *Server) nodes(w http.ResponseWriter, r *http.Request) error {
	if err := parseQuery(r, nil, nil).err; err != nil {
		return err
	}
	nodes, err := s.node.Nodes(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, nodes)
}

// changeNode answers POST /v1/nodes/{name}:drain, :undrain and :remove.
func (s *Server) changeNode(w http.ResponseWriter, r *http.Request) error {
	at := strings.LastIndexByte(r.PathValue("action"), ':')
	changes := map[string]func(context.Context, string) error{
		actionDrain: s.node.DrainNode, actionUndrain: s.node.UndrainNode, actionRemove: s.node.RemoveNode,
	}
	change := changes[r.PathValue("action")[max(at, 0):]]
	if change == nil {
		return api.NewProblem(http.StatusNotFound, "want POST /v1/nodes/NAME:drain, :undrain or :remove")
	}
	if err := parseQuery(r, nil, nil).err; err != nil {
		return err
	}
	if err := change(r.Context(), r.PathValue("action")[:at]); err != nil {
		return err
	}
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// splitRanges answers POST /v1/ranges:split?to=COUNT.
func (s *Server) splitRanges(w http.ResponseWriter, r *http.Request) error {
	q := parseQuery(r, []string{"to"}, nil)
	to, err := strconv.Atoi(q.text("to", 10))
	if err != nil {
		q.fail("to", "want the number of ranges that there are to be")
	}
	if q.err != nil {
		return q.err
	}
	if err := s.node.SplitRanges(r.Context(), to); err != nil {
		return err
	}
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// recoverTimeout bounds a recovery, which waits for nodes that may be gone.
const recoverTimeout = 15 * time.Second

func (s *Server) planRecovery(w http.ResponseWriter, r *http.Request) error {
	return s.answerRecovery(w, r, r.PathValue("id"), s.node.PlanRecovery)
}

// recoverRange answers POST /v1/ranges/{id}:recover.
func (s *Server) recoverRange(w http.ResponseWriter, r *http.Request) error {
	group, ok := strings.CutSuffix(r.PathValue("action"), actionRecover)
	if !ok {
		return api.NewProblem(http.StatusNotFound, "want POST /v1/ranges/ID:recover")
	}
	return s.answerRecovery(w, r, group, s.node.Recover)
}

func (s *Server) answerRecovery(w http.ResponseWriter, r *http.Request, group string, of func(context.Context, string) (*api.Recovery, error)) error {
	if err := parseQuery(r, nil, nil).err; err != nil {
		return err
	}
	recovery, err := of(r.Context(), group)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, recovery)
}
