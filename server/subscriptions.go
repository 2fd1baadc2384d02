package server

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/seed-91e7e7c1/corona/api"
)

// headerKey is the header that makes a subscription repeatable.
const headerKey = "Idempotency-Key"

func (s *Server) subscribe(w http.ResponseWriter, r *http.Request) error {
	request, err := s.readSubscribe(w, r)
	if err != nil {
		return err
	}
	// Only now: however slowly the body came, the node has its time.
	extendWrite(w, s.cfg.CallTimeout+s.cfg.WriteTimeout)
	ctx, cancel := context.WithTimeout(r.Context(), s.cfg.CallTimeout)
	defer cancel()
	outcomes := s.node.Subscribe(ctx, []api.SubscribeRequest{request})
	if err := outcomes[0].Err; err != nil {
		return err
	}
	made := present(*outcomes[0].Subscription)
	if made.State == api.StateDeleted {
		return writeJSON(w, http.StatusOK, made) // there is nothing at its place
	}
	w.Header().Set("Location", "/v1/subscriptions/"+url.PathEscape(made.ID))
	if request.Once && outcomes[0].Existing {
		return writeJSON(w, http.StatusOK, made)
	}
	return writeJSON(w, http.StatusCreated, made)
}

func (s *Server) readSubscribe(w http.ResponseWriter, r *http.Request) (request api.SubscribeRequest, err error) {
	if err := parseQuery(r, nil, nil).err; err != nil {
		return request, err
	}
	key, err := idempotencyKey(r.Header)
	if err != nil {
		return request, err
	}
	extendWrite(w, s.cfg.ReadTimeout+s.cfg.WriteTimeout) // so that a body too slow is told so
	body, err := readBody(w, r)
	if err != nil {
		return request, err
	}
	if err := decode(body, &request); err != nil {
		return request, err
	}
	if request.Key != "" {
		return request, api.BadField("key", "a single subscription has its key in the header "+headerKey)
	}
	request.Key = key
	return s.rules.Check(request)
}

// idempotencyKey returns the key of a request, empty for none.
func idempotencyKey(header http.Header) (string, error) {
	values := header.Values(headerKey)
	if len(values) == 0 {
		return "", nil
	}
	if len(values) > 1 || values[0] == "" {
		return "", api.BadField(headerKey, "want one key, or no such header")
	}
	return values[0], checkKey(headerKey, values[0])
}

// present returns a subscription as it may be shown: without its secret.
func present(subscription api.Subscription) api.Subscription {
	subscription.Sink.Secret = ""
	return subscription
}

func (s *Server) listSubscriptions(w http.ResponseWriter, r *http.Request) error {
	q := parseQuery(r, []string{"limit", "after", "channel"}, nil)
	ask := api.SubscriptionQuery{After: q.text("after", maxCursor), Limit: q.limit()}
	if ids := q.channels("channel"); len(ids) > 0 {
		ask.Channel = &ids[0]
	}
	if q.err != nil {
		return q.err
	}
	page, err := s.node.Subscriptions(r.Context(), ask)
	if err != nil {
		return err
	}
	shown := api.Subscriptions{Subscriptions: make([]api.Subscription, len(page.Subscriptions)), Next: page.Next}
	for i, subscription := range page.Subscriptions {
		shown.Subscriptions[i] = present(subscription)
	}
	return writeJSON(w, http.StatusOK, shown)
}

func (s *Server) subscription(w http.ResponseWriter, r *http.Request) error {
	id, err := subscriptionID(r, r.PathValue("id"))
	if err != nil {
		return err
	}
	subscription, err := s.node.Subscription(r.Context(), id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, present(*subscription))
}

func (s *Server) unsubscribe(w http.ResponseWriter, r *http.Request) error {
	id, err := subscriptionID(r, r.PathValue("id"))
	if err != nil {
		return err
	}
	if err := s.node.Unsubscribe(r.Context(), id); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// testSink answers POST /v1/subscriptions/{id}:test.
func (s *Server) testSink(w http.ResponseWriter, r *http.Request) error {
	name, ok := strings.CutSuffix(r.PathValue("action"), actionTest)
	if !ok {
		return methodNotAllowed(r, "DELETE, GET, HEAD")
	}
	id, err := subscriptionID(r, name)
	if err != nil {
		return err
	}
	if err := s.node.TestSink(r.Context(), id); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// subscriptionID checks the ID in a path of a call without parameters. What
// cannot be one never existed.
func subscriptionID(r *http.Request, id string) (string, error) {
	if err := parseQuery(r, nil, nil).err; err != nil {
		return "", err
	}
	if !isName(id) {
		return "", api.NewProblem(http.StatusNotFound, "no subscription "+clip(id))
	}
	return id, nil
}
