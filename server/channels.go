package server

import (
	"errors"
	"net/http"
	"strings"

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
	if page.Channels == nil {
		page.Channels = []api.Channel{}
	}
	for i := range page.Channels {
		presentChannel(&page.Channels[i])
	}
	return writeJSON(w, http.StatusOK, page)
}

// presentChannel sees to it that no list of a channel is null.
func presentChannel(one *api.Channel) {
	if one.Pollers == nil {
		one.Pollers = []string{}
	}
	if one.Bounds == nil {
		one.Bounds = []api.Bound{}
	}
}

func (s *Server) channel(w http.ResponseWriter, r *http.Request) error {
	id, err := channelID(r.PathValue("id"))
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
	presentChannel(found)
	return writeJSON(w, http.StatusOK, found)
}

func (s *Server) explain(w http.ResponseWriter, r *http.Request) error {
	id, err := channelID(r.PathValue("id"))
	if err != nil {
		return err
	}
	if err := parseQuery(r, nil, nil).err; err != nil {
		return err
	}
	explanation, err := s.node.Explain(r.Context(), id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, explanation)
}

// forget answers POST /v1/channels/{id}:forget.
func (s *Server) forget(w http.ResponseWriter, r *http.Request) error {
	name, ok := strings.CutSuffix(r.PathValue("action"), actionForget)
	if !ok {
		return methodNotAllowed(r, "GET, HEAD")
	}
	id, err := channelID(name)
	if err != nil {
		return err
	}
	if err := parseQuery(r, nil, nil).err; err != nil {
		return err
	}
	if err := s.node.Forget(r.Context(), id); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// channelID reads the ID in a path.
func channelID(text string) (channel.ID, error) {
	id, err := channel.ParseID(text)
	if err != nil {
		return id, api.BadField("id", err.Error())
	}
	return id, nil
}
