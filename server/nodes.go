package server

import (
	"net/http"
	"strings"

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

// changeNode answers POST /v1/nodes/{name}:drain and :remove.
func (s *Server) changeNode(w http.ResponseWriter, r *http.Request) error {
	change := s.node.DrainNode
	name, ok := strings.CutSuffix(r.PathValue("action"), actionDrain)
	if !ok {
		change = s.node.RemoveNode
		if name, ok = strings.CutSuffix(r.PathValue("action"), actionRemove); !ok {
			return api.NewProblem(http.StatusNotFound, "want POST /v1/nodes/NAME:drain or :remove")
		}
	}
	if err := parseQuery(r, nil, nil).err; err != nil {
		return err
	}
	if err := change(r.Context(), name); err != nil {
		return err
	}
	w.WriteHeader(http.StatusAccepted)
	return nil
}
