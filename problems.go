package corona

import (
	"context"
	"errors"
	"net/http"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership"
	"github.com/seed-91e7e7c1/corona/ownership/backup"
)

// problem says in the contract's terms what an error of the store means. Nil
// stays nil, and what has no meaning to a caller stays as it is.
func problem(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, channel.ErrNotFound):
		return api.NewProblem(http.StatusNotFound, err.Error())
	case errors.Is(err, ownership.ErrNotFresh):
		return api.NewProblem(http.StatusConflict, err.Error())
	case errors.Is(err, ownership.ErrRestoring):
		return api.NewProblem(http.StatusServiceUnavailable, err.Error())
	case errors.Is(err, ownership.ErrInvalid), errors.Is(err, backup.ErrFile), errors.Is(err, ownership.ErrTooLarge):
		return api.NewProblem(http.StatusBadRequest, err.Error())
	case errors.Is(err, ownership.ErrRefused):
		return api.NewProblem(http.StatusConflict, err.Error())
	case errors.Is(err, ownership.ErrKeyReused):
		return api.NewProblem(http.StatusConflict, "this Idempotency-Key was used with another request")
	case errors.Is(err, ownership.ErrStale):
		return api.NewProblem(http.StatusServiceUnavailable, "not done: "+err.Error())
	case errors.Is(err, ownership.ErrNoSpace):
		return api.NewProblem(http.StatusInsufficientStorage, err.Error())
	case errors.Is(err, ownership.ErrUnavailable), errors.Is(err, ownership.ErrClosed),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return api.NewProblem(http.StatusServiceUnavailable, "not known to be durable: "+err.Error())
	}
	return err
}
