package server

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/seed-91e7e7c1/corona/api"
)

// healthy answers while the process can answer at all.
func (s *Server) healthy(w http.ResponseWriter, _ *http.Request) error {
	return writeText(w, "ok\n")
}

// ready answers whether to send work here: not before the node has caught up,
// nor once the server has begun to stop.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) error {
	if s.stopping.Err() != nil {
		return api.NewProblem(http.StatusServiceUnavailable, "stopping")
	}
	err := s.node.Ready(r.Context())
	if problem := (*api.Problem)(nil); err == nil {
		return writeText(w, "ready\n")
	} else if errors.As(err, &problem) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return api.NewProblem(http.StatusServiceUnavailable, err.Error())
}

func (s *Server) status(w http.ResponseWriter, r *http.Request) error {
	if err := parseQuery(r, nil, nil).err; err != nil {
		return err
	}
	status, err := s.node.Status(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, presentStatus(*status))
}

// presentStatus returns a status in which no list is null.
func presentStatus(status api.Status) api.Status {
	status.Cluster.Nodes = append([]string{}, status.Cluster.Nodes...)
	ranges := make([]api.Range, len(status.Cluster.Ranges))
	for i, one := range status.Cluster.Ranges {
		one.Replicas = append([]string{}, one.Replicas...)
		ranges[i] = one
	}
	status.Cluster.Ranges = ranges
	return status
}

func writeText(w http.ResponseWriter, text string) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = io.WriteString(w, text) // a client that is gone needs no answer
	return nil
}
