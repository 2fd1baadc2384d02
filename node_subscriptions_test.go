package corona

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/notify/webhook"
)

// A test of a sink that time alone does not mend is not to be repeated.
func TestTestProblem(t *testing.T) {
	for err, retryable := range map[error]bool{
		&webhook.CallError{Class: webhook.ClassGone, Status: 410}:   false,
		&webhook.CallError{Class: webhook.ClassStatus, Status: 503}: true,
		&webhook.CallError{Class: webhook.ClassForbidden}:           false,
		&webhook.CallError{Class: webhook.ClassTimeout}:             true,
		context.DeadlineExceeded:                                    true,
	} {
		var failed *api.Problem
		if got := testProblem(err); !errors.As(got, &failed) || failed.Status != http.StatusBadGateway || failed.Retryable != retryable {
			t.Errorf("%v: %+v, want retryable %v", err, failed, retryable)
		}
	}
	if err := testProblem(nil); err != nil {
		t.Error(err)
	}
}
