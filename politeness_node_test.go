package corona_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-91e7e7c1/corona/internal/originaudit"
)

// TestPoliteness runs a whole node on every behaviour at once, restarts it in the
// middle, and has each request judged. docs/politeness.md names its parts.
func TestPoliteness(t *testing.T) {
	if testing.Short() {
		t.Skip("takes twenty seconds of real time")
	}
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	behaviours := slices.Concat(validatorBehaviours(), refusalBehaviours(), wordBehaviours(), paceBehaviours(),
		redirectBehaviours(), rowBehaviours(), healthyBehaviours())
	r := newRig(t, behaviours)
	defer r.close(t)
	r.await(t, behaviours, 3*rigInterval)
	r.restart(t)
	missing := r.await(t, behaviours, rigPatience)

	log := r.origin.Log()
	violations := originaudit.Audit(log, r.policy)
	for i, b := range behaviours {
		t.Run(b.name, func(t *testing.T) {
			own := r.of(log, i)
			if slices.Contains(missing, i) {
				t.Errorf("not enough was asked for:%s", timeline(own, r.began))
			} else if b.want != nil {
				if err := b.want(r, r.urls[i]); err != nil {
					t.Errorf("%v%s", err, timeline(own, r.began))
				}
			}
			report(t, slices.DeleteFunc(slices.Clone(violations), func(v originaudit.Violation) bool { return !r.plays(i, v.URL) || v.Kind == b.may }))
		})
	}
	t.Run("FRB040 a start spreads", func(t *testing.T) { without(t, violations, originaudit.Stampede) })
	t.Run("FRB050 FRB051 GET alone", func(t *testing.T) { without(t, violations, originaudit.Method, originaudit.Protocol) })
	t.Run("FRB060 FRB061 no URL is made up", func(t *testing.T) { without(t, violations, originaudit.Unpublished) })
	t.Run("FRB070 no needless fields", func(t *testing.T) {
		without(t, violations, originaudit.Cookie, originaudit.Referer, originaudit.NeedlessField, originaudit.Encoding)
	})
	t.Run("FRB080 FRB090 an honest User-Agent", func(t *testing.T) { without(t, violations, originaudit.Agent) })
}

// without fails for violations of some kinds, wherever they were found.
func without(t *testing.T, violations []originaudit.Violation, kinds ...originaudit.Kind) {
	t.Helper()
	report(t, slices.DeleteFunc(slices.Clone(violations), func(v originaudit.Violation) bool { return !slices.Contains(kinds, v.Kind) }))
}

// report fails for each violation, and shows the first ones.
func report(t *testing.T, violations []originaudit.Violation) {
	t.Helper()
	const most = 5
	for _, v := range violations[:min(len(violations), most)] {
		t.Error(v)
	}
	if more := len(violations) - most; more > 0 {
		t.Errorf("and %d more", more)
	}
}

// timeline is a log's beginning as a person reads it.
func timeline(log originaudit.Log, began time.Time) string {
	const most = 20
	var b strings.Builder
	log = log[:min(len(log), most)]
	for _, e := range log {
		b.WriteString("\n\t")
		b.WriteString(e.Arrived.Sub(began).Round(time.Millisecond).String())
		b.WriteString(" ")
		b.WriteString(e.String())
	}
	return b.String()
}
