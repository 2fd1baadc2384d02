package witness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
)

// Client asks the nodes, each request at one of them by turns, and records what it was
// told.
type Client struct {
	recorder  *Recorder
	nodes     atomic.Pointer[[]Base]
	turn      atomic.Uint64
	http      *http.Client
	streaming *http.Client // without a time limit
}

// Base is a node as a client knows it.
type Base struct {
	Node int    // its number, in [Attempt]
	URL  string // of its API, without a slash at the end
}

// AnswerWithin is the longest that a node may take to answer. It promises 5 s
// without a majority; what takes longer than this counts as cut.
const AnswerWithin = 10 * time.Second

// NewClient makes a client of one node or several, numbered from 0 on, that waits for an
// answer for [AnswerWithin].
func NewClient(r *Recorder, urls ...string) *Client {
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	c := &Client{
		recorder:  r,
		http:      &http.Client{Transport: transport, Timeout: AnswerWithin},
		streaming: &http.Client{Transport: transport},
	}
	bases := make([]Base, len(urls))
	for i, url := range urls {
		bases[i] = Base{i, url}
	}
	c.Ask(bases...)
	return c
}

// Ask has the client ask these nodes from now on, one at least.
func (c *Client) Ask(bases ...Base) { c.nodes.Store(&bases) }

// At returns a client that asks one node alone, and waits for its answers for so long.
func (c *Client) At(node Base, within time.Duration) *Client {
	one := &Client{recorder: c.recorder, http: c.http, streaming: c.streaming}
	one.Ask(node)
	one.Within(within)
	return one
}

// Within sets how long the client waits for an answer.
func (c *Client) Within(limit time.Duration) {
	c.http = &http.Client{Transport: c.http.Transport, Timeout: limit}
}

// next returns the node whose turn it is. The order shifts with each round, so that of as
// many requests in step each meets all nodes in the end.
func (c *Client) next() Base {
	bases, n := *c.nodes.Load(), c.turn.Add(1)
	return bases[(n+n/uint64(len(bases)))%uint64(len(bases))]
}

// do sends a request and returns what is known of its outcome, with the body of
// a complete answer.
func (c *Client) do(ctx context.Context, method, path, key string, body []byte) (Attempt, []byte) {
	node := c.next()
	attempt := Attempt{Sent: c.recorder.Now(), Node: node.Node}
	// The transport sends a request with a key again where a kept connection ends without
	// an answer: that no connection could be made says little then.
	connected := false
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected = true }})
	status, answer, err := c.exchange(ctx, method, node.URL+path, key, body)
	attempt.Done = c.recorder.Now()
	attempt.Status, attempt.Outcome = status, outcomeOf(status)
	if err != nil {
		attempt.Outcome = Unknown
		var dial *net.OpError
		attempt.Unsent = !connected && errors.As(err, &dial) && dial.Op == "dial"
	}
	return attempt, answer
}

// outcomeOf returns what a status says; 0 is none.
func outcomeOf(status int) Outcome {
	switch {
	case status == http.StatusInsufficientStorage:
		return NoSpace
	case status >= 500 || status == 0:
		return Unknown
	case status >= 400:
		return Refused
	}
	return Acked
}

func (c *Client) exchange(ctx context.Context, method, url, key string, body []byte) (status int, answer []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}

// Subscribe asks once under the record's key, if it has one.
func (c *Client) Subscribe(ctx context.Context, record *SubscribeRecord) Attempt {
	body := mustJSON(c.request(record))
	attempt, answer := c.do(ctx, http.MethodPost, "/v1/subscriptions", record.Key, body)
	if attempt.Outcome == Acked {
		attempt.Subscription = readSubscription(&attempt, answer)
	}
	c.note(record, attempt)
	return attempt
}

func (c *Client) request(record *SubscribeRecord) api.SubscribeRequest {
	var target string
	c.recorder.With(func(h *History) { target = h.Channels[record.Channel].URL })
	return api.SubscribeRequest{URL: target, Sink: record.Sink}
}

// readSubscription reads an acknowledged subscription; an answer that is none
// takes the acknowledgement back, so that the checker sees a refusal.
func readSubscription(attempt *Attempt, answer []byte) *api.Subscription {
	var sub api.Subscription
	if err := json.Unmarshal(answer, &sub); err != nil || sub.ID == "" {
		attempt.Outcome = Refused
		return nil
	}
	return &sub
}

func (c *Client) note(record *SubscribeRecord, attempt Attempt) {
	c.recorder.With(func(*History) { record.Attempts = append(record.Attempts, attempt) })
	if attempt.Outcome == Acked {
		c.recorder.happened(momentSubscribed)
	}
}

// subscribeBatch asks for many in one request. Of a cut answer the whole lines
// count; the rest is of unknown outcome.
func (c *Client) subscribeBatch(ctx context.Context, records []*SubscribeRecord) {
	var lines bytes.Buffer
	for _, record := range records {
		request := c.request(record)
		request.Key = record.Key
		lines.Write(append(mustJSON(request), '\n'))
	}
	whole, answer := c.do(ctx, http.MethodPost, "/v1/subscriptions:batch", "", lines.Bytes())
	answers := bytes.SplitAfter(answer, []byte("\n"))
	for i, record := range records {
		attempt := Attempt{Sent: whole.Sent, Done: whole.Done, Outcome: whole.Outcome, Status: whole.Status}
		if i < len(answers) && bytes.HasSuffix(answers[i], []byte("\n")) && whole.Status == http.StatusOK {
			readLine(&attempt, answers[i])
		} else if whole.Outcome == Acked {
			attempt.Outcome = Refused // 200, but without this line's answer
		}
		c.note(record, attempt)
	}
}

// readLine reads one answer of a batch.
func readLine(attempt *Attempt, line []byte) {
	var result api.BatchResult
	if err := json.Unmarshal(line, &result); err != nil {
		attempt.Outcome = Refused
		return
	}
	if result.Error != nil {
		attempt.Status, attempt.Outcome = result.Error.Status, outcomeOf(result.Error.Status)
		if attempt.Outcome == Acked {
			attempt.Outcome = Refused // an error that is none
		}
		return
	}
	attempt.Outcome = Acked
	attempt.Subscription = readSubscription(attempt, line)
}

// conflict uses an acknowledged record's key for another body.
func (c *Client) conflict(ctx context.Context, record *SubscribeRecord) {
	request := c.request(record)
	request.URL += "?another"
	attempt, _ := c.do(ctx, http.MethodPost, "/v1/subscriptions", record.Key, mustJSON(request))
	c.recorder.With(func(*History) { record.Conflicts = append(record.Conflicts, attempt) })
}

// Unsubscribe asks once for the deletion of an acknowledged record. That it is
// being asked for is known before the request leaves: the deletion may be done
// though its answer is lost.
func (c *Client) Unsubscribe(ctx context.Context, record *SubscribeRecord) Attempt {
	var id string
	var at int
	c.recorder.With(func(*History) {
		id, at = record.Acked().Subscription.ID, len(record.Deletes)
		record.Deletes = append(record.Deletes, Attempt{Sent: c.recorder.Now()})
	})
	attempt, _ := c.do(ctx, http.MethodDelete, "/v1/subscriptions/"+url.PathEscape(id), "", nil)
	c.recorder.With(func(*History) { record.Deletes[at] = attempt })
	if attempt.Outcome == Acked {
		c.recorder.happened(momentDeleted)
	}
	return attempt
}

// Test asks once for a test message to an acknowledged record's sink, and reports whether
// that was acknowledged.
func (c *Client) Test(ctx context.Context, record *SubscribeRecord) bool {
	var id string
	c.recorder.With(func(*History) { id = record.Acked().Subscription.ID })
	attempt, _ := c.do(ctx, http.MethodPost, "/v1/subscriptions/"+url.PathEscape(id)+":test", "", nil)
	return attempt.Outcome == Acked
}

// State returns the state of an acknowledged record's subscription; empty without an
// answer.
func (c *Client) State(ctx context.Context, record *SubscribeRecord) string {
	var id string
	c.recorder.With(func(*History) { id = record.Acked().Subscription.ID })
	var sub api.Subscription
	if err := c.get(ctx, "/v1/subscriptions/"+url.PathEscape(id), &sub); err != nil {
		return ""
	}
	return sub.State
}

// Look gets an acknowledged record's subscription.
func (c *Client) Look(ctx context.Context, record *SubscribeRecord) {
	var id string
	c.recorder.With(func(*History) { id = record.Acked().Subscription.ID })
	attempt, _ := c.do(ctx, http.MethodGet, "/v1/subscriptions/"+url.PathEscape(id), "", nil)
	c.recorder.With(func(h *History) { h.Gets = append(h.Gets, Get{attempt, record}) })
}

// List gets the subscriptions of a channel: the first page, which is one read of one
// range. It is nil without an answer.
func (c *Client) List(ctx context.Context, record *ChannelRecord) []api.Subscription {
	page := api.Subscriptions{}
	if err := c.get(ctx, "/v1/subscriptions?limit=1000&channel="+record.ID.String(), &page); err != nil {
		return nil
	}
	if page.Subscriptions == nil {
		return []api.Subscription{}
	}
	return page.Subscriptions
}

// ErrNoAnswer is a read that a kill or a start cut short.
var ErrNoAnswer = errors.New("no answer")

// get reads JSON. The error is ErrNoAnswer when there was no answer, or 5xx.
func (c *Client) get(ctx context.Context, path string, into any) error {
	attempt, answer := c.do(ctx, http.MethodGet, path, "", nil)
	switch attempt.Outcome {
	case Unknown:
		return fmt.Errorf("GET %s: %w (status %d)", path, ErrNoAnswer, attempt.Status)
	case Refused, NoSpace:
		return fmt.Errorf("GET %s: status %d: %s", path, attempt.Status, bytes.TrimSpace(answer))
	}
	return json.Unmarshal(answer, into)
}

// patiently gets JSON as get does, and asks again, the next node where there are several,
// while there is no answer: one page must not cost a walk through all of them.
func (c *Client) patiently(ctx context.Context, path string, into any) (err error) {
	for range pageTries {
		if err = c.get(ctx, path, into); !errors.Is(err, ErrNoAnswer) {
			return err
		}
		Pause(ctx, RetryPause)
	}
	return err
}

const pageTries = 5

// readVersion reads a channel's version into the history, and returns it. A refusal, such as
// 404, is a read of version 0.
func (c *Client) readVersion(ctx context.Context, record *ChannelRecord) (uint64, error) {
	sent := c.recorder.Now()
	var state api.Channel
	err := c.get(ctx, "/v1/channels/"+record.ID.String(), &state)
	if errors.Is(err, ErrNoAnswer) {
		return 0, err
	}
	read := VersionRead{Sent: sent, Done: c.recorder.Now(), Channel: record.Number, Version: state.Version}
	c.recorder.With(func(h *History) { h.Reads = append(h.Reads, read) })
	return state.Version, err
}

// Snapshot reads the node's whole state. Channels without a subscription so far
// are missing from it; those that pass may end at any time, so their updates are
// not read.
func (c *Client) Snapshot(ctx context.Context, records []*ChannelRecord) (*Snapshot, error) {
	s := &Snapshot{Channels: make(map[channel.ID]api.Channel), Updates: make(map[channel.ID][]api.Update)}
	err := c.pages(ctx, "/v1/subscriptions?limit=50", func(data []byte) (string, error) {
		var page api.Subscriptions
		err := json.Unmarshal(data, &page)
		s.Listing = append(s.Listing, page.Subscriptions...)
		return page.Next, err
	})
	if err != nil {
		return nil, err
	}
	err = c.pages(ctx, "/v1/channels?limit=10", func(data []byte) (string, error) {
		var page api.Channels
		err := json.Unmarshal(data, &page)
		for _, state := range page.Channels {
			s.Channels[state.ID] = state
		}
		return page.Next, err
	})
	if err != nil {
		return nil, err
	}
	for _, record := range records {
		if _, known := s.Channels[record.ID]; !known || !record.Anchored {
			continue
		}
		if s.Updates[record.ID], err = c.updates(ctx, record.ID); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// pages reads a list page by page; read returns where the next one begins.
func (c *Client) pages(ctx context.Context, path string, read func(page []byte) (next string, err error)) error {
	for after := ""; ; {
		var page json.RawMessage
		if err := c.patiently(ctx, path+"&after="+url.QueryEscape(after), &page); err != nil {
			return err
		}
		next, err := read(page)
		if err != nil || next == "" {
			return err
		}
		after = next
	}
}

// updates reads what is kept of a channel's updates.
func (c *Client) updates(ctx context.Context, id channel.ID) ([]api.Update, error) {
	var all []api.Update
	for after := uint64(0); ; after = all[len(all)-1].Version {
		var page api.Updates
		if err := c.patiently(ctx, fmt.Sprintf("/v1/channels/%s/updates?after=%d", id, after), &page); err != nil {
			return nil, err
		}
		if len(page.Updates) == 0 {
			return all, nil
		}
		all = append(all, page.Updates...)
	}
}

// Ready reports whether the node serves.
func (c *Client) Ready(ctx context.Context) bool {
	attempt, _ := c.do(ctx, http.MethodGet, "/readyz", "", nil)
	return attempt.Outcome == Acked
}

func mustJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic("the contract's types are JSON: " + err.Error())
	}
	return data
}
