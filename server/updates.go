package server

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"net/http"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
)

// updatesStep is how many updates are in memory at a time: each may be some
// hundred kilobytes, and an answer may hold a thousand.
const updatesStep = 16

// channelUpdates answers GET /v1/channels/{id}/updates piece by piece.
func (s *Server) channelUpdates(w http.ResponseWriter, r *http.Request) error {
	id, err := channelID(r.PathValue("id"))
	if err != nil {
		return err
	}
	q := parseQuery(r, []string{"after", "limit"}, nil)
	after, limit := q.version("after"), q.limit()
	if q.err != nil {
		return q.err
	}
	out := &updatesWriter{server: s, w: w}
	for piece, err := range s.updatePieces(r, id, after, limit) {
		if err != nil && !out.begun {
			return err
		}
		if err != nil {
			s.log.Warn("answer cut short", "route", r.Pattern, "channel", id, "error", err)
			panic(http.ErrAbortHandler) // an answer that looks whole must be
		}
		if !out.add(piece) {
			break
		}
	}
	out.end()
	return nil
}

// updatePieces yields at most limit updates with versions above after, in at
// least one piece, or an error and nothing more.
func (s *Server) updatePieces(r *http.Request, id channel.ID, after uint64, limit int) iter.Seq2[*api.Updates, error] {
	return func(yield func(*api.Updates, error) bool) {
		for limit > 0 {
			step := min(limit, updatesStep)
			piece, err := s.updates(r, id, after, step)
			if !yield(piece, err) || err != nil || len(piece.Updates) < step {
				return
			}
			limit -= len(piece.Updates)
			after = piece.Updates[len(piece.Updates)-1].Version
		}
	}
}

func (s *Server) updates(r *http.Request, id channel.ID, after uint64, limit int) (*api.Updates, error) {
	ctx, cancel := context.WithTimeout(r.Context(), s.cfg.CallTimeout)
	defer cancel()
	return s.node.Updates(ctx, id, after, limit)
}

// updatesWriter writes one [api.Updates] from pieces of it. A client that is
// gone or too slow ends the handler.
type updatesWriter struct {
	server *Server
	w      http.ResponseWriter
	begun  bool
	count  int
	gap    *api.Gap
	buf    bytes.Buffer // what is not written yet
}

// add takes the next piece and reports whether another may follow. It may not
// when a gap opened since the first: the next call tells of that.
func (u *updatesWriter) add(piece *api.Updates) bool {
	if !u.begun {
		u.begun, u.gap = true, piece.Gap
		u.w.Header().Set("Content-Type", "application/json")
		u.w.Header().Set("Cache-Control", "no-store")
		u.buf.WriteString(`{"updates":[`)
	} else if piece.Gap != nil {
		return false
	}
	for i := range piece.Updates {
		if u.count > 0 {
			u.buf.WriteByte(',')
		}
		u.count++
		appendJSON(&u.buf, &piece.Updates[i])
	}
	u.write()
	return true
}

func (u *updatesWriter) end() {
	u.buf.WriteByte(']')
	if u.gap != nil {
		u.buf.WriteString(`,"gap":`)
		appendJSON(&u.buf, u.gap)
	}
	u.buf.WriteString("}\n")
	u.write()
}

// write gives each piece the time of a whole answer.
func (u *updatesWriter) write() {
	extendWrite(u.w, u.server.cfg.WriteTimeout)
	if _, err := u.buf.WriteTo(u.w); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// appendJSON appends one of our own types, which can always be encoded.
func appendJSON(buf *bytes.Buffer, v any) {
	content, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	buf.Write(content)
}
