package ownership

import (
	"errors"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

func resultOf(answer *wire.Answer) (state.Result, error) {
	if err := failureError(answer.Failure); err != nil {
		return state.Result{}, err
	}
	var done state.Result
	for _, each := range answer.Subscribed {
		done.Subscribed = append(done.Subscribed, state.Subscribed{
			Seq: each.Seq, CreatedUS: each.CreatedUs, FromVersion: each.FromVersion,
			Existing: each.Existing, Deleted: each.Deleted, Err: failureError(each.Failure),
		})
	}
	for _, claim := range answer.Claims {
		done.Claims = append(done.Claims, failureError(claim))
	}
	return done, nil
}

func answerOf(done state.Result) *wire.Answer {
	answer := &wire.Answer{}
	for _, each := range done.Subscribed {
		answer.Subscribed = append(answer.Subscribed, &wire.Answer_Subscribed{
			Seq: each.Seq, CreatedUs: each.CreatedUS, FromVersion: each.FromVersion,
			Existing: each.Existing, Deleted: each.Deleted, Failure: failureOf(each.Err),
		})
	}
	for _, err := range done.Claims {
		answer.Claims = append(answer.Claims, failureOf(err))
	}
	return answer
}

// classes are the errors that callers branch on, by the number that they have between
// nodes. An error of none of them is an unknown outcome.
var classes = []error{
	1: ErrUnavailable, 2: ErrStale, 3: ErrKeyReused, 4: ErrInvalid, 5: ErrTooLarge, 6: ErrNoSpace,
	7: channel.ErrNotFound, 8: channel.ErrTooOld, 9: ErrClosed, 10: disk.ErrCorrupt, 11: ErrRefused,
	12: ErrRestoring, 13: ErrNotFresh, 14: state.ErrMoved,
}

// farError is an error of another node: its text, and the class of it.
type farError struct {
	class error
	text  string
}

func (e *farError) Error() string { return e.text }
func (e *farError) Unwrap() error { return e.class }

// failureOf is empty for nil.
func failureOf(err error) *wire.Failure {
	if err == nil {
		return &wire.Failure{}
	}
	for class, is := range classes {
		if is != nil && errors.Is(err, is) {
			return &wire.Failure{Class: uint32(class), Text: err.Error()}
		}
	}
	return &wire.Failure{Class: 1, Text: err.Error()}
}

// failureError is nil for an empty one.
func failureError(f *wire.Failure) error {
	if f.GetClass() == 0 {
		return nil
	}
	class := ErrUnavailable
	if int(f.Class) < len(classes) {
		class = classes[f.Class]
	}
	return &farError{class, f.Text}
}
