package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
)

func (s *Server) listChannels(w http.ResponseWriter, r *http.Request) error {
	q := parseQuery(r, []string{"limit", "after", "url"}, nil)
	limit, after, raw := q.limit(), q.after(), q.text("url", channel.MaxURL)
	if q.err != nil {
		return q.err
	}
	if q.values.Has("url") {
		return s.findChannel(w, r, raw)
	}
	// One more than asked for tells whether this is the last page.
	channels, err := s.node.Channels(r.Context(), after, limit+1)
	if err != nil {
		return err
	}
	page := api.Channels{Channels: channels}
	if len(channels) > limit {
		page.Channels = channels[:limit]
		page.Next = channelCursor(page.Channels[limit-1].ID)
	}
	return writeChannels(w, page)
}

// findChannel answers with the page of the one channel that a URL names, or
// with an empty one.
func (s *Server) findChannel(w http.ResponseWriter, r *http.Request, raw string) error {
	_, id, err := channel.Parse(raw)
	if wrong := (*channel.URLError)(nil); errors.As(err, &wrong) {
		return api.BadField("url", wrong.Reason)
	}
	found, err := s.node.Channel(r.Context(), id)
	if problem := (*api.Problem)(nil); errors.As(err, &problem) && problem.Status == http.StatusNotFound {
		return writeChannels(w, api.Channels{})
	}
	if err != nil {
		return err
	}
	return writeChannels(w, api.Channels{Channels: []api.Channel{*found}})
}

// writeChannels answers with a page in which no list is null.
func writeChannels(w http.ResponseWriter, page api.Channels) error {
	shown := api.Channels{Channels: make([]api.Channel, len(page.Channels)), Next: page.Next}
	for i, one := range page.Channels {
		shown.Channels[i] = presentChannel(one)
	}
	return writeJSON(w, http.StatusOK, shown)
}

func presentChannel(one api.Channel) api.Channel {
	if one.Pollers == nil {
		one.Pollers = []string{}
	}
	return one
}

func (s *Server) channel(w http.ResponseWriter, r *http.Request) error {
	id, err := channelID(r)
	if err != nil {
		return err
	}
	if err := parseQuery(r, nil, nil).err; err != nil {
		return err
	}
	found, err := s.node.Channel(r.Context(), id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, presentChannel(*found))
}

func channelID(r *http.Request) (channel.ID, error) {
	id, err := channel.ParseID(r.PathValue("id"))
	if err != nil {
		return id, api.BadField("id", err.Error())
	}
	return id, nil
}

// updatesStep is how many updates are in memory at a time: each may be some
// hundred kilobytes, and an answer may hold a thousand.
const updatesStep = 16

func (s *Server) channelUpdates(w http.ResponseWriter, r *http.Request) error {
	id, err := channelID(r)
	if err != nil {
		return err
	}
	q := parseQuery(r, []string{"after", "limit"}, nil)
	after, limit := q.version("after"), q.limit()
	if q.err != nil {
		return q.err
	}
	first, err := s.updates(r, id, after, min(limit, updatesStep))
	if err != nil {
		return err
	}
	s.writeUpdates(w, r, id, first, limit)
	return nil
}

func (s *Server) updates(r *http.Request, id channel.ID, after uint64, limit int) (*api.Updates, error) {
	ctx, cancel := context.WithTimeout(r.Context(), s.cfg.CallTimeout)
	defer cancel()
	return s.node.Updates(ctx, id, after, limit)
}

// writeUpdates writes an [api.Updates] piece by piece, from the piece that is
// there to the limit or the last. What fails on the way cuts the connection: an
// answer that looks whole must be.
func (s *Server) writeUpdates(w http.ResponseWriter, r *http.Request, id channel.ID, piece *api.Updates, limit int) {
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Cache-Control", "no-store")
	gap, buf := piece.Gap, bytes.NewBufferString(`{"updates":[`)
	for n := 0; ; {
		for i := range piece.Updates {
			if n++; n > 1 {
				buf.WriteByte(',')
			}
			appendJSON(buf, &piece.Updates[i])
		}
		// A gap that opened while we wrote ends the answer: the next call tells of it.
		if n >= limit || len(piece.Updates) < updatesStep {
			break
		}
		s.writePiece(w, buf)
		var err error
		last := piece.Updates[len(piece.Updates)-1].Version
		if piece, err = s.updates(r, id, last, min(limit-n, updatesStep)); err != nil {
			s.log.Warn("answer cut short", "route", r.Pattern, "channel", id, "error", err)
			panic(http.ErrAbortHandler)
		}
		if piece.Gap != nil {
			break
		}
	}
	buf.WriteByte(']')
	if gap != nil {
		buf.WriteString(`,"gap":`)
		appendJSON(buf, gap)
	}
	buf.WriteString("}\n")
	s.writePiece(w, buf)
}

// appendJSON appends one of our own types, which can always be encoded.
func appendJSON(buf *bytes.Buffer, v any) {
	content, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	buf.Write(content)
}

// writePiece writes what buf holds and empties it, with the time of a whole
// answer for each piece.
func (s *Server) writePiece(w http.ResponseWriter, buf *bytes.Buffer) {
	extendWrite(w, s.cfg.WriteTimeout)
	if _, err := w.Write(buf.Bytes()); err != nil {
		panic(http.ErrAbortHandler)
	}
	buf.Reset()
}
