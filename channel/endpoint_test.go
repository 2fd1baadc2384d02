package channel

import (
	"testing"
	"time"
)

func TestHealthy(t *testing.T) {
	for _, test := range []struct {
		name string
		e    Endpoint
		want bool
	}{
		{"works", Endpoint{URL: "http://sink.example/"}, true},
		{"fails", Endpoint{FailingSince: time.Unix(1, 0), Attempts: 1}, false},
		{"fails, never counted", Endpoint{FailingSince: time.Unix(1, 0)}, false},
		{"suspended", Endpoint{State: EndpointSuspended}, false},
		{"disabled", Endpoint{State: EndpointDisabled}, false},
		{"tried later", Endpoint{NextAttempt: time.Unix(1, 0)}, false},
		{"works again", Endpoint{LostUntil: time.Unix(1, 0)}, false},
	} {
		if got := test.e.Healthy(); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
		if got := test.e.Works(); got != (test.want || !test.e.LostUntil.IsZero()) {
			t.Errorf("%s: works %v", test.name, got)
		}
	}
}
