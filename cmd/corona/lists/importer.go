package lists

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
)

const (
	// importAhead is how many entries are read and not yet answered, at most; they
	// are in memory. As many as that only wait in a connection's buffers, or behind
	// many that are bad by themselves: the request ends, and another goes on.
	importAhead = 1 << 16
	// importAgain is how many refusals for now end a request, to wait a while.
	importAgain = 1024
)

// importer subscribes to what a list holds: in one streaming request and, when
// that breaks or the node refuses for now, in another for the rest.
type importer struct {
	client   *api.Client
	sink     api.Sink
	tally    *importTally
	progress *importProgress
	report   importReport
	retries  *retries
	begun    time.Time

	next    func() (listEntry, error, bool) // of the list; nil at its end
	listErr error                           // why the list cannot be read on

	first   []importEntry    // what the next request begins with
	sent    chan importEntry // what waits for its answer, in the order of the list
	again   []importEntry    // of this request: refused for now, or not answered
	stop    atomic.Bool      // this request takes no more
	refusal *api.Problem     // the last for now, of this request
	took    bool             // this request got an answer that stays
	heard   bool             // some request got an answer
}

// importEntry is an entry of a list and why it is not subscribed: nil while there
// is no reason.
type importEntry struct {
	listEntry
	problem *api.Problem
	again   bool // it was asked for before, and may have been subscribed without an answer
}

// run returns nil when every entry is subscribed or reported.
func (imp *importer) run(ctx context.Context, name string, list iter.Seq2[listEntry, error]) error {
	next, stop := iter.Pull2(list)
	defer stop()
	imp.next, imp.sent = next, make(chan importEntry, importAhead)
	for imp.next != nil || len(imp.first) > 0 {
		trouble := imp.request(ctx)
		if trouble == nil {
			continue
		}
		if imp.lasting(ctx, trouble) {
			return importEnds(trouble)
		}
		if imp.took {
			imp.retries.reset()
		}
		if !imp.retries.left() {
			return imp.giveUp(name, trouble)
		}
		fmt.Fprintf(imp.progress, "%s: %s; asking again in %s\n", cli.Clean(name), cli.Clean(cli.Explain(trouble).Error()), imp.retries.delay)
		if err := imp.retries.wait(ctx); err != nil {
			return importEnds(err)
		}
	}
	return imp.end(name)
}

// request makes one streaming request, of what comes first and then of the list.
// Its error is why another is needed: the client's, or the node's last refusal for
// now.
func (imp *importer) request(ctx context.Context) (trouble error) {
	imp.stop.Store(false)
	imp.refusal, imp.took = nil, false
	for result, err := range imp.client.Batch(ctx, imp.requests()) {
		if err != nil {
			trouble = err
			break
		}
		imp.answer(result)
	}
	// No request is made any more: what is left was not answered.
	for len(imp.sent) > 0 {
		if entry := <-imp.sent; entry.problem != nil {
			imp.done(entry, false)
		} else {
			entry.again = true
			imp.again = append(imp.again, entry)
		}
	}
	imp.first, imp.again = append(imp.again, imp.first...), nil
	if trouble == nil && imp.refusal != nil {
		trouble = imp.refusal
	}
	return trouble
}

// requests takes entries for a request until it is to stop. The client calls it
// from a goroutine of its own: first, next and listErr are its as long as it runs.
func (imp *importer) requests() iter.Seq[api.SubscribeRequest] {
	return func(yield func(api.SubscribeRequest) bool) {
		for !imp.stop.Load() {
			entry, ok := imp.take()
			if !ok {
				return
			}
			var request api.SubscribeRequest
			request, entry.problem = imp.check(entry.listEntry)
			select {
			case imp.sent <- entry:
			default:
				imp.first = append([]importEntry{entry}, imp.first...)
				return
			}
			if entry.problem == nil && !yield(request) {
				return
			}
		}
	}
}

// take returns the next entry, if there is one.
func (imp *importer) take() (importEntry, bool) {
	if len(imp.first) > 0 {
		entry := imp.first[0]
		imp.first = imp.first[1:]
		return entry, true
	}
	if imp.next == nil {
		return importEntry{}, false
	}
	entry, err, ok := imp.next()
	if err != nil {
		imp.listErr = fmt.Errorf("%d: %w", entry.line, err)
	}
	if err != nil || !ok {
		imp.next = nil
		return importEntry{}, false
	}
	return importEntry{listEntry: entry}, true
}

// check returns what is asked of the node for an entry, or why nothing is.
func (imp *importer) check(entry listEntry) (api.SubscribeRequest, *api.Problem) {
	if entry.reason != "" {
		return api.SubscribeRequest{}, api.BadField("url", entry.reason)
	}
	canonical, err := channel.Canonical(entry.url)
	var urlErr *channel.URLError
	if errors.As(err, &urlErr) {
		return api.SubscribeRequest{}, api.BadField("url", urlErr.Reason)
	}
	return api.SubscribeRequest{URL: canonical, Sink: imp.sink, Once: true}, nil
}

// answer takes a result, which is that of the first entry that was asked for: it
// was put there before. Bad ones before it are reported in their turn.
func (imp *importer) answer(result api.BatchResult) {
	imp.heard = true
	for len(imp.sent) > 0 { // more results than requests: the client says so at the end
		entry := <-imp.sent
		if entry.problem != nil {
			imp.done(entry, false)
			continue
		}
		entry.problem = result.Error
		if result.Error == nil || !result.Error.Retryable {
			imp.took = true
			imp.done(entry, result.Existing && !imp.madeUnheard(entry, result))
			return
		}
		entry.again = true
		imp.again, imp.refusal = append(imp.again, entry), result.Error
		if len(imp.again) >= importAgain || isDiskFull(result.Error) {
			imp.stop.Store(true)
		}
		return
	}
}

// madeUnheard says that a subscription that was there is of this import: of an
// entry whose first answer was lost, and made since the import began. A clock of the
// node that differs by more than the retries take makes the count wrong, nothing else.
func (imp *importer) madeUnheard(entry importEntry, result api.BatchResult) bool {
	return entry.again && !result.Created.Before(imp.begun)
}

// done reports an entry that is settled.
func (imp *importer) done(entry importEntry, existing bool) {
	imp.tally.add(existing, entry.problem)
	if entry.problem != nil {
		imp.report.refused(entry.listEntry, entry.problem)
	}
	imp.progress.at(entry.end)
}

// lasting reports trouble that time does not mend: the caller should know at once.
func (imp *importer) lasting(ctx context.Context, trouble error) bool {
	var problem *api.Problem
	if errors.As(trouble, &problem) {
		return !problem.Retryable || isDiskFull(problem)
	}
	return ctx.Err() != nil || !imp.heard
}

// isDiskFull: a disk that fills up is for people, and soon not what it is by itself.
func isDiskFull(problem *api.Problem) bool { return problem.Status == http.StatusInsufficientStorage }

// giveUp reports what the node refused for too long. It is an error if the list
// goes on behind it, or the node did not answer.
func (imp *importer) giveUp(name string, trouble error) error {
	if imp.next != nil || trouble != error(imp.refusal) {
		return importEnds(trouble)
	}
	for _, entry := range imp.first {
		imp.done(entry, false)
	}
	return imp.end(name)
}

// end returns why the list could not be read to its end.
func (imp *importer) end(name string) error {
	if imp.listErr == nil {
		return nil
	}
	return fmt.Errorf("%s:%w", name, imp.listErr)
}

// importEnds says why an import stops before its end, and what is to be done.
func importEnds(err error) error {
	return cli.Exit(cli.ExitUnreachable, fmt.Errorf("%w; what is subscribed stays, import again for the rest", cli.Explain(err)))
}
