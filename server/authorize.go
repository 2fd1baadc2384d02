package server

import (
	"net/http"
	"strings"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
)

// openRoutes need no token: what load balancers ask, and the files of the page,
// which are the same on every node; a browser cannot send a token for them. What
// the page shows it asks for with the token that it is given.
var openRoutes = map[string]bool{
	"GET /healthz":     true,
	"GET /readyz":      true,
	"GET /{$}":         true,
	"GET /favicon.ico": true,
	"GET /page/{file}": true,
}

// The reasons for which requests are refused.
const (
	tokenMissing = "missing"
	tokenWrong   = "wrong"
	tokenUnread  = "unread" // its source guesses
)

// authorize refuses a request without one of the node's tokens, where there are
// any. Both refusals are 401, as RFC 6750 has it (section 3.1): 403 would say
// that another, better token was known but may do less, and all may do the same.
func (s *Server) authorize(r *http.Request) error {
	if !s.cfg.Tokens.Wanted() {
		return nil
	}
	token := bearer(r.Header)
	if token == "" {
		return s.refuse(tokenMissing, unauthorized(`this node wants a token: send "Authorization: Bearer TOKEN"`, ""))
	}
	from, shared := sourceOf(r)
	now := time.Now()
	if !shared && !s.guessers.hears(from, now) {
		return s.refuse(tokenUnread, api.NewProblem(http.StatusTooManyRequests, "too many wrong tokens came from "+from.String()))
	}
	if s.cfg.Tokens.include(token) {
		s.guessers.right(from, now)
		return nil
	}
	guesses, tell := s.guessers.wrong(from, now)
	if tell {
		s.log.Warn("wrong API tokens, one after the other", "from", from)
	}
	if guesses {
		s.holdBack(r)
	}
	return s.refuse(tokenWrong, unauthorized("this is no token of this node", "invalid_token"))
}

// bearer returns the token of a request, empty for none. It is read nowhere but
// in the header: URLs are written into logs.
func bearer(header http.Header) string {
	values := header.Values("Authorization")
	if len(values) != 1 {
		return ""
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// holdBack delays the answer to a guesser, as far as there is room: each delayed
// answer occupies a connection.
func (s *Server) holdBack(r *http.Request) {
	select {
	case s.guessers.held <- struct{}{}:
		defer func() { <-s.guessers.held }()
	default:
		return
	}
	timer := time.NewTimer(guessPrice)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	case <-s.stopping.Done():
	}
}

func (s *Server) refuse(reason string, err error) error {
	s.metrics.unauthorized.WithLabelValues(reason).Inc()
	return err
}

// unauthorized is a 401 with its challenge (RFC 9110, section 11.6.1). The code
// is RFC 6750's; none is given where no token was sent.
func unauthorized(detail, code string) error {
	challenge := `Bearer realm="corona"`
	if code != "" {
		challenge += `, error="` + code + `"`
	}
	return &refusal{
		problem: api.NewProblem(http.StatusUnauthorized, detail),
		header:  http.Header{"Www-Authenticate": {challenge}},
	}
}
