package server

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
)

const (
	defaultLimit = 100
	maxLimit     = 1000
	maxCursor    = 1024     // bytes of a page's cursor
	maxPlace     = 22 << 10 // bytes of a stream's cursor, which are more the more ranges lag; 1,024 is their most
	maxName      = 256      // bytes of a subscription's ID
	maxFilters   = 500      // channels and subscriptions of a stream
)

// query reads the parameters of a URL. A parameter that the call does not have
// is refused: a filter with a typing error must not answer with everything.
// The first thing that is wrong stays as err, and what is read after it is zero.
type query struct {
	values url.Values
	err    error
}

// parseQuery takes the parameters that a call has; those in many may repeat.
func parseQuery(r *http.Request, once, many []string) *query {
	values, err := url.ParseQuery(r.URL.RawQuery)
	q := &query{values: values}
	if err != nil {
		q.err = api.NewProblem(http.StatusBadRequest, "malformed query: "+clip(err.Error()))
		return q
	}
	for name, given := range values {
		if slices.Contains(many, name) {
			continue
		}
		if !slices.Contains(once, name) {
			q.fail(clip(name), "no such parameter; this call has %s", cmp.Or(strings.Join(slices.Concat(once, many), ", "), "none"))
		} else if len(given) > 1 {
			q.fail(name, "given more than once")
		}
	}
	return q
}

func (q *query) fail(name, format string, args ...any) {
	if q.err == nil {
		q.err = api.BadField(name, fmt.Sprintf(format, args...))
	}
}

// text returns a parameter of at most a number of bytes; empty when not given.
func (q *query) text(name string, most int) string {
	value := q.values.Get(name)
	if len(value) > most {
		q.fail(name, "longer than %d bytes", most)
		return ""
	}
	return value
}

func (q *query) limit() int {
	if !q.values.Has("limit") {
		return defaultLimit
	}
	n, err := strconv.Atoi(q.values.Get("limit"))
	if err != nil || n < 1 || n > maxLimit {
		q.fail("limit", "want a number from 1 to %d", maxLimit)
	}
	return n
}

// version returns a parameter that is a version; 0 when not given.
func (q *query) version(name string) uint64 {
	if !q.values.Has(name) {
		return 0
	}
	v, err := strconv.ParseUint(q.values.Get(name), 10, 64)
	if err != nil {
		q.fail(name, "want a version, a number from 0")
	}
	return v
}

// channels returns the IDs that a parameter gives, nil for none.
func (q *query) channels(name string) []channel.ID {
	var ids []channel.ID
	for _, value := range q.values[name] {
		id, err := channel.ParseID(value)
		if err != nil {
			q.fail(name, "%v", err)
			return nil
		}
		ids = append(ids, id)
	}
	return ids
}

// subscriptions returns the IDs that a parameter gives, nil for none.
func (q *query) subscriptions(name string) []string {
	for _, value := range q.values[name] {
		if !isName(value) {
			q.fail(name, "%q is no subscription's ID", clip(value))
			return nil
		}
	}
	return q.values[name]
}

// isName reports whether a subscription's ID may be of this form.
func isName(s string) bool {
	return s != "" && len(s) <= maxName && !strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || c > '~' })
}

// The cursor of a page of channels is opaque: today it is the ID of the last
// channel, behind a version.
const channelCursorVersion = 1

func channelCursor(id channel.ID) string {
	return base64.RawURLEncoding.EncodeToString(append([]byte{channelCursorVersion}, id[:]...))
}

// after returns the ID in a cursor that channelCursor made, nil for none.
func (q *query) after() *channel.ID {
	value := q.text("after", maxCursor)
	if value == "" {
		return nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil || len(raw) != 1+channel.IDLen || raw[0] != channelCursorVersion {
		q.fail("after", "not what next was on the page before")
		return nil
	}
	return (*channel.ID)(raw[1:])
}
