package state

import (
	"errors"
	"fmt"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// Observer is told of changes, those of one range in the order of its log.
type Observer interface {
	// ChannelChanged comes first for each change: the channel was created, its
	// subscribers, version or state changed, or it ended.
	ChannelChanged(c channel.Channel, ended bool)
	// Committed tells of a new update, or the notice that a channel is gone, and how many of
	// the channel's subscriptions are webhooks.
	Committed(u channel.Update, webhooks uint64)
	Subscribed(s channel.Subscription)
	Unsubscribed(s channel.Subscription)
}

// Reach notes that the entry with an index is applied with tx. It is false for one that the
// state has already, which must not be applied again.
func (tx *Tx) Reach(index uint64) bool {
	if index <= tx.applied.index {
		return false
	}
	tx.applied.index = index
	return true
}

// InTerm says in which term the next entry was proposed.
func (tx *Tx) InTerm(term uint64) { tx.term = term }

// Apply applies an entry's commands and returns their results. An error means that the
// state can no longer follow the log: tx must not be written.
func (tx *Tx) Apply(entry []byte) ([]Result, error) {
	commands, err := decodeEntry(entry)
	if err != nil {
		return nil, err
	}
	results := make([]Result, len(commands))
	for i, command := range commands {
		tx.start(command.timeUS)
		results[i], err = applyCommand(tx, command)
		if errors.Is(err, ErrInvalid) || errors.Is(err, ErrRestoring) || errors.Is(err, ErrMoved) {
			results[i], err = Result{Err: err}, nil
		}
		if err != nil {
			return nil, err
		}
		tx.finish()
	}
	return results, nil
}

// applyCommand dispatches. An ErrInvalid, ErrRestoring or ErrMoved means that the command was
// refused before it changed anything, any other error that state could not be read or
// written. What does not fit the state is in the result.
func applyCommand(tx *Tx, command command) (Result, error) {
	switch c := command.change.(type) {
	case []claimItem:
		return applyClaim(tx, c)
	case []Item:
		return applySubscribe(tx, c)
	case *wire.Command_Unsubscribe:
		return applyUnsubscribe(tx, c.Unsubscribe)
	case *wire.Command_Commit:
		return applyCommit(tx, c.Commit)
	case *wire.Command_Advance:
		return applyAdvance(tx, c.Advance)
	case *wire.Command_SetEndpoint:
		return applySetEndpoint(tx, c.SetEndpoint)
	case *wire.Command_EndChannel:
		return applyEndChannel(tx, c.EndChannel)
	case *wire.Command_Trim:
		return applyTrim(tx, c.Trim)
	case *wire.Command_ExpireKeys:
		return applyExpireKeys(tx, c.ExpireKeys)
	case *wire.Command_Forget:
		return applyForget(tx, c.Forget)
	case *wire.Command_Rest:
		return applyRest(tx, c.Rest)
	case *wire.Command_Restore:
		return applyRestore(tx, c.Restore)
	case *wire.Command_Compare:
		return applyCompare(tx, c.Compare)
	case *wire.Command_Split:
		return applySplit(tx, c.Split)
	case *wire.Command_Tick:
		return Result{}, nil
	default:
		return Result{}, fmt.Errorf("command %T has no application", c)
	}
}
