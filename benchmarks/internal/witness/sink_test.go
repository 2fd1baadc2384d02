package witness

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
)

// post sends a message as a node does, signed.
func post(t *testing.T, s *Sink, label, id, body string) int {
	t.Helper()
	now := time.Now()
	signature, err := s.verifier.Sign(id, now, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequest(http.MethodPost, "/"+label, strings.NewReader(body))
	request.Header.Set("webhook-id", id)
	request.Header.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
	request.Header.Set("webhook-signature", signature)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, request)
	return w.Code
}

func TestSinkRecords(t *testing.T) {
	o, r := newTestOrigin(t, 1, 0)
	s, err := NewSink(t.Context(), "127.0.0.1:0", r, o, 1)
	if err != nil {
		t.Fatal(err)
	}
	post(t, s, "hook-1", "m1", `{"type":"channel.updated","data":{"subscription":"S","version":2,"url":"u"}}`)
	post(t, s, "hook-1", "m2", `{"type":"channel.gap","data":{"subscription":"S"}}`)
	post(t, s, "hook-1", "m3", `not JSON`)
	request := httptest.NewRequest(http.MethodPost, "/hook-1", strings.NewReader(`{"type":"channel.gap","data":{}}`))
	s.ServeHTTP(httptest.NewRecorder(), request)
	r.With(func(h *History) {
		if len(h.Deliveries) != 4 {
			t.Fatalf("%d deliveries, want 4", len(h.Deliveries))
		}
		first := h.Deliveries[0]
		if first.Label != "hook-1" || first.WebhookID != "m1" || !first.Signed || first.Subscription != "S" || first.Update == nil || first.Update.Version != 2 {
			t.Errorf("an update: %+v", first)
		}
		if gap := h.Deliveries[1]; gap.Type != api.MessageGap || gap.Update != nil {
			t.Errorf("a gap: %+v", gap)
		}
		if bad := h.Deliveries[2]; !strings.HasPrefix(bad.Type, "unreadable") {
			t.Errorf("what is not JSON: %+v", bad)
		}
		if h.Deliveries[3].Signed {
			t.Error("a message without a signature counts as signed")
		}
	})
}

// A sink that failed twice in a row would rest for minutes.
func TestSinkFailsSeldom(t *testing.T) {
	o, r := newTestOrigin(t, 1, 0)
	s, err := NewSink(t.Context(), "127.0.0.1:0", r, o, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, every := range []Instant{time.Second, failRest} {
		const messages = 20 * failEvery
		last, failures := -failRest, 0
		for now := Instant(0); now < messages*every; now += every {
			if !s.fails(every.String(), now) {
				continue
			}
			if failures++; now-last < failRest || failures > 1 && now-last <= failTaken*every {
				t.Fatalf("fails at %s and at %s", last, now)
			}
			last = now
		}
		if want := messages / failEvery; failures < want/2 || failures > 2*want {
			t.Errorf("%d failures of %d messages, want about %d", failures, messages, want)
		}
	}
}

// In an outage an endpoint answers as it is told to, or not at all; others work.
func TestSinkOutage(t *testing.T) {
	o, r := newTestOrigin(t, 1, 0)
	s, err := NewSink(t.Context(), "127.0.0.1:0", r, o, 1)
	if err != nil {
		t.Fatal(err)
	}
	const update, gap = `{"type":"channel.updated","data":{"subscription":"S","version":2,"url":"u"}}`, `{"type":"channel.gap","data":{"subscription":"S","from":3,"to":5}}`
	refused := func(answer int) (code int) {
		defer func() {
			if recover() != nil {
				code = 0
			}
		}()
		outage := s.Fail("shared", answer)
		defer s.Recover(outage)
		return post(t, s, "shared", "m1", update)
	}
	for _, answer := range []int{http.StatusServiceUnavailable, http.StatusGone, 0} {
		if code := refused(answer); code != answer {
			t.Errorf("answered %d, want %d", code, answer)
		}
	}
	outage := s.Fail("shared", http.StatusGone)
	if code := post(t, s, "another", "m2", update); code != http.StatusOK {
		t.Errorf("another endpoint answered %d", code)
	}
	s.Recover(outage)
	if code := post(t, s, "shared", "m3", gap); code != http.StatusOK {
		t.Errorf("answered %d after the outage", code)
	}
	r.With(func(h *History) {
		last := h.Deliveries[len(h.Deliveries)-1]
		if len(h.Deliveries) != 5 || last.Gap == nil || *last.Gap != (api.Gap{From: 3, To: 5}) || h.Deliveries[2].Answer != 0 || h.Deliveries[0].From == "" {
			t.Errorf("noted %+v", h.Deliveries)
		}
		if len(h.Outages) != 4 || h.Outages[3].To < h.Outages[3].From || h.Outages[3].To == 0 {
			t.Errorf("noted %v", h.Outages)
		}
	})
}
