package watch

import (
	"io"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
)

// watchPrinter prints the events of a stream.
type watchPrinter interface {
	update(*api.Update) error
	gap(*api.ChannelGap) error
	gone(*api.ChannelGone) error
	reset() error
}

func newWatchPrinter(w io.Writer, asJSON bool) watchPrinter {
	if asJSON {
		return watchJSON{w}
	}
	return watchText{printer: cli.NewUpdatePrinter(w)}
}

// watchText prints for people.
type watchText struct{ printer *cli.UpdatePrinter }

func (p watchText) update(update *api.Update) error { return p.printer.Update(update) }

func (p watchText) gap(gap *api.ChannelGap) error {
	return p.printer.Gap("channel "+gap.Channel.String(), gap.From, gap.To, gap.Reason)
}

func (p watchText) gone(gone *api.ChannelGone) error {
	return p.printer.Note(gone.URL + " is gone: " + gone.Reason)
}

func (p watchText) reset() error {
	return p.printer.Note("the node no longer knows where this watch was: updates may be missing")
}

// watchJSON prints an object a line: the event's data with its type.
type watchJSON struct{ w io.Writer }

func (p watchJSON) update(update *api.Update) error {
	return cli.PrintJSONLine(p.w, struct {
		Type string `json:"type"`
		*api.Update
	}{api.StreamUpdate, update})
}

func (p watchJSON) gap(gap *api.ChannelGap) error {
	return cli.PrintJSONLine(p.w, struct {
		Type string `json:"type"`
		*api.ChannelGap
	}{api.StreamGap, gap})
}

func (p watchJSON) gone(gone *api.ChannelGone) error {
	return cli.PrintJSONLine(p.w, struct {
		Type string `json:"type"`
		*api.ChannelGone
	}{api.StreamGone, gone})
}

func (p watchJSON) reset() error {
	return cli.PrintJSONLine(p.w, struct {
		Type string `json:"type"`
	}{api.StreamReset})
}
