package corona_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/seed-91e7e7c1/corona"
	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
)

// harbour is a page with a count that moves at each look, until it is stopped.
type harbour struct {
	mu      sync.Mutex
	readers int
	still   bool
	news    string
	passes  chan struct{} // not nil: each look takes one, and waits for it
}

func (h *harbour) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	if !h.still {
		h.readers += 37
	}
	passes := h.passes
	page := fmt.Sprintf("<html><body><h1>Harbour</h1><p>The ferry leaves at the pier.</p>%s<p>Readers so far: %d</p></body></html>", h.news, h.readers)
	h.mu.Unlock()
	if passes != nil {
		select {
		case <-passes:
		case <-r.Context().Done():
		}
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprint(w, page)
}

func (h *harbour) change(f func(*harbour)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f(h)
}

// counted reports whether an explanation has a number.
func counted(t *testing.T, node *corona.Node, id channel.ID) bool {
	t.Helper()
	why, err := node.Explain(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range why.Noise {
		if n.What == "number" {
			return true
		}
	}
	return false
}

// lastUpdate returns the newest update of a channel, nil for none.
func lastUpdate(t *testing.T, node *corona.Node, id channel.ID) *api.Update {
	t.Helper()
	updates, err := node.Updates(t.Context(), id, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if len(updates.Updates) == 0 {
		return nil
	}
	return &updates.Updates[len(updates.Updates)-1]
}

// TestForget: a count that was learned to mean nothing is said to be masked beside what
// is told, is told itself once that is forgotten, and a restart does not bring it back.
func TestForget(t *testing.T) {
	page := &harbour{readers: 48_000}
	origin := httptest.NewServer(page)
	defer origin.Close()
	data := t.TempDir()
	node := open(t, data)
	id := subscribe(t, node, origin.URL, "").Channel
	until(t, node, id, func(*api.Channel) bool { return counted(t, node, id) })

	page.change(func(h *harbour) { h.news = "<p>The pier is closed for repairs.</p>" })
	until(t, node, id, func(*api.Channel) bool {
		u := lastUpdate(t, node, id)
		return u != nil && strings.Contains(u.Diff, "+The pier is closed")
	})
	if u := lastUpdate(t, node, id); len(u.Masked) != 1 || u.Masked[0].What != "number" ||
		!strings.HasPrefix(u.Masked[0].Text, "far: 4") || !strings.HasPrefix(u.Masked[0].Why, "it changed at two looks in a row") {
		t.Errorf("masked beside the news: %+v", u.Masked)
	}

	page.change(func(h *harbour) { h.still = true })
	for range 2 {
		if err := node.Forget(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if counted(t, node, id) {
			t.Error("the count is masked after it was forgotten")
		}
	}
	closeNode(t, node)
	node = open(t, data)
	defer closeNode(t, node)
	if counted(t, node, id) {
		t.Error("the count is masked again after a restart")
	}
	page.change(func(h *harbour) { h.readers = 77_777 })
	until(t, node, id, func(*api.Channel) bool {
		u := lastUpdate(t, node, id)
		return u != nil && strings.Contains(u.Diff, "+Readers so far: 77777")
	})

	err := node.Forget(t.Context(), channel.IDOf("http://nothing.example/"))
	if problem := (*api.Problem)(nil); !errors.As(err, &problem) || problem.Status != http.StatusNotFound {
		t.Errorf("forgetting of a channel that is not there: %v", err)
	}
}

// TestHeld: what was taken away and waits for another look is said to wait, by the
// channel and its explanation, until that look.
func TestHeld(t *testing.T) {
	page := &harbour{still: true, news: "<p>The pier is closed for repairs.</p>"}
	origin := httptest.NewServer(page)
	defer origin.Close()
	node := open(t, t.TempDir())
	defer closeNode(t, node)
	id := subscribe(t, node, origin.URL, "").Channel
	until(t, node, id, func(ch *api.Channel) bool { return ch.Version == 1 && ch.Held == nil })

	passes := make(chan struct{}, 1)
	passes <- struct{}{}
	page.change(func(h *harbour) { h.news, h.passes = "", passes })
	held := until(t, node, id, func(ch *api.Channel) bool { return ch.Held != nil }).Held
	if held.Since.IsZero() || !strings.HasPrefix(held.What, "content is missing; told when ") {
		t.Errorf("held: %+v", held)
	}
	if why, err := node.Explain(t.Context(), id); err != nil || why.Held == nil || *why.Held != *held {
		t.Errorf("explained %+v, %v; want %+v", why.Held, err, held)
	}
	close(passes)
	until(t, node, id, func(ch *api.Channel) bool { return ch.Version == 2 && ch.Held == nil })
}
