package server_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
)

// fakeNode is a node in memory: it keeps what it is told, at once. Its zero
// value is ready; the hooks, where set, come first.
type fakeNode struct {
	subscribeHook func(context.Context, []api.SubscribeRequest) []api.SubscribeOutcome
	streamHook    func(context.Context, api.StreamFilter, string) (api.EventStream, error)
	testHook      func(context.Context, string) error
	readyHook     func(context.Context) error
	failure       error // of every other call
	recovered     time.Time

	mu        sync.Mutex
	subs      []api.Subscription
	gone      map[string]bool
	keys      map[string]api.Subscription
	channels  []api.Channel // in order of their IDs
	updates   []api.Update  // of every channel
	gap       *api.Gap
	forgotten []channel.ID // by calls of Forget
	backup    string
	calls     int // of Subscribe and Updates
}

func notFound(what string) error { return api.NewProblem(http.StatusNotFound, "no "+what) }

func (n *fakeNode) Subscribe(ctx context.Context, requests []api.SubscribeRequest) []api.SubscribeOutcome {
	if n.subscribeHook != nil {
		return n.subscribeHook(ctx, requests)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls++
	outcomes := make([]api.SubscribeOutcome, len(requests))
	for i, request := range requests {
		outcomes[i] = n.subscribe(request)
	}
	return outcomes
}

func (n *fakeNode) subscribe(request api.SubscribeRequest) api.SubscribeOutcome {
	if n.failure != nil {
		return api.SubscribeOutcome{Err: n.failure}
	}
	if before, ok := n.keys[request.Key]; ok && request.Key != "" {
		if before.URL != request.URL || before.Sink != request.Sink {
			return api.SubscribeOutcome{Err: api.NewProblem(http.StatusConflict, "the key was used for something else")}
		}
		if n.gone[before.ID] {
			before.State = api.StateDeleted
		}
		return api.SubscribeOutcome{Subscription: &before, Existing: true}
	}
	same := func(s api.Subscription) bool { return s.URL == request.URL && s.Sink == request.Sink }
	if i := slices.IndexFunc(n.subs, same); i >= 0 && request.Once {
		return api.SubscribeOutcome{Subscription: &n.subs[i], Existing: true}
	}
	made := api.Subscription{
		ID:          "sub_" + strconv.Itoa(len(n.subs)+1),
		Channel:     channel.IDOf(request.URL),
		URL:         request.URL,
		Sink:        request.Sink, // with its secret, which the server must not show
		Created:     time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC),
		FromVersion: 2,
		State:       api.StateActive,
	}
	n.subs = append(n.subs, made)
	n.addChannel(request.URL)
	if request.Key != "" {
		if n.keys == nil {
			n.keys = make(map[string]api.Subscription)
		}
		n.keys[request.Key] = made
	}
	return api.SubscribeOutcome{Subscription: &made}
}

func (n *fakeNode) Nodes(context.Context) (*api.Nodes, error) {
	return &api.Nodes{Nodes: []api.ClusterNode{{ID: "fake.1", Name: "fake", State: "alive", Replicas: 1, Leads: 1}}}, n.failure
}

func (n *fakeNode) DrainNode(_ context.Context, name string) error {
	if name != "fake" {
		return notFound("node")
	}
	return n.failure
}

func (n *fakeNode) RemoveNode(ctx context.Context, name string) error { return n.DrainNode(ctx, name) }

func (n *fakeNode) UndrainNode(ctx context.Context, name string) error { return n.DrainNode(ctx, name) }

func (n *fakeNode) SplitRanges(_ context.Context, to int) error {
	if to > 256 {
		return api.NewProblem(http.StatusBadRequest, "too many")
	}
	return n.failure
}

func (n *fakeNode) PlanRecovery(_ context.Context, group string) (*api.Recovery, error) {
	if group != "0" {
		return nil, notFound("range")
	}
	return &api.Recovery{Range: group, Survivors: []api.Survivor{{Node: "fake", Term: 2, Index: 7}}, Lost: []string{"other"}}, n.failure
}

func (n *fakeNode) Recover(ctx context.Context, group string) (*api.Recovery, error) {
	done, err := n.PlanRecovery(ctx, group)
	if err == nil {
		done.At = &n.recovered
	}
	return done, err
}

func (n *fakeNode) addChannel(url string) {
	id := channel.IDOf(url)
	i, found := slices.BinarySearchFunc(n.channels, id, func(c api.Channel, id channel.ID) int { return c.ID.Compare(id) })
	if !found {
		n.channels = slices.Insert(n.channels, i, api.Channel{ID: id, URL: url, Owner: "fake"})
	}
	n.channels[i].Subscribers++
}

func (n *fakeNode) Unsubscribe(_ context.Context, id string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.failure != nil {
		return n.failure
	}
	i := n.find(id)
	if i < 0 && !n.gone[id] {
		return notFound("subscription")
	}
	if i >= 0 {
		n.subs = slices.Delete(n.subs, i, i+1)
		if n.gone == nil {
			n.gone = make(map[string]bool)
		}
		n.gone[id] = true
	}
	return nil
}

func (n *fakeNode) find(id string) int {
	return slices.IndexFunc(n.subs, func(s api.Subscription) bool { return s.ID == id })
}

func (n *fakeNode) Subscription(_ context.Context, id string) (*api.Subscription, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.failure != nil {
		return nil, n.failure
	}
	if i := n.find(id); i >= 0 {
		found := n.subs[i]
		return &found, nil
	}
	return nil, notFound("subscription")
}

// Subscriptions has the number of the next subscription as its cursor.
func (n *fakeNode) Subscriptions(_ context.Context, query api.SubscriptionQuery) (*api.Subscriptions, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.failure != nil {
		return nil, n.failure
	}
	first := 0
	if query.After != "" {
		var err error
		if first, err = strconv.Atoi(query.After); err != nil || first > len(n.subs) {
			return nil, api.BadField("after", "no cursor")
		}
	}
	page := &api.Subscriptions{}
	for i := first; i < len(n.subs); i++ {
		if len(page.Subscriptions) == query.Limit {
			page.Next = strconv.Itoa(i)
			break
		}
		if query.Channel == nil || *query.Channel == n.subs[i].Channel {
			page.Subscriptions = append(page.Subscriptions, n.subs[i])
		}
	}
	return page, nil
}

func (n *fakeNode) TestSink(ctx context.Context, id string) error {
	if n.testHook != nil {
		return n.testHook(ctx, id)
	}
	_, err := n.Subscription(ctx, id)
	return err
}

func (n *fakeNode) Channel(_ context.Context, id channel.ID) (*api.Channel, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.failure != nil {
		return nil, n.failure
	}
	for _, one := range n.channels {
		if one.ID == id {
			return &one, nil
		}
	}
	return nil, notFound("channel")
}

func (n *fakeNode) Explain(ctx context.Context, id channel.ID) (*api.Explanation, error) {
	one, err := n.Channel(ctx, id)
	if err != nil {
		return nil, err
	}
	return &api.Explanation{Channel: id, URL: one.URL, DecidedBy: api.DecidedByStart, Noise: []api.Noise{}}, nil
}

func (n *fakeNode) Forget(ctx context.Context, id channel.ID) error {
	_, err := n.Channel(ctx, id)
	if err == nil {
		n.forgotten = append(n.forgotten, id)
	}
	return err
}

func (n *fakeNode) Channels(_ context.Context, after *channel.ID, limit int) ([]api.Channel, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.failure != nil {
		return nil, n.failure
	}
	var page []api.Channel
	for _, one := range n.channels {
		if (after == nil || one.ID.Compare(*after) > 0) && len(page) < limit {
			page = append(page, one)
		}
	}
	return page, nil
}

func (n *fakeNode) Updates(_ context.Context, id channel.ID, after uint64, limit int) (*api.Updates, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls++
	if n.failure != nil {
		return nil, n.failure
	}
	answer := &api.Updates{}
	if after == 0 {
		answer.Gap = n.gap
	}
	for _, update := range n.updates {
		if update.Channel == id && update.Version > after && len(answer.Updates) < limit {
			answer.Updates = append(answer.Updates, update)
		}
	}
	return answer, nil
}

func (n *fakeNode) Stream(ctx context.Context, filter api.StreamFilter, cursor string) (api.EventStream, error) {
	if n.streamHook != nil {
		return n.streamHook(ctx, filter, cursor)
	}
	return &fakeStream{}, nil
}

func (n *fakeNode) Backup(_ context.Context, to io.Writer) error {
	if n.failure != nil {
		return n.failure
	}
	_, err := io.WriteString(to, n.backup)
	return err
}

func (n *fakeNode) Restore(_ context.Context, from io.Reader) (*api.Restored, error) {
	if n.failure != nil {
		return nil, n.failure
	}
	content, err := io.ReadAll(from)
	n.backup = string(content)
	return &api.Restored{Subscriptions: 1}, err
}

func (n *fakeNode) Status(context.Context) (*api.Status, error) {
	if n.failure != nil {
		return nil, n.failure
	}
	return &api.Status{Node: "fake", Cluster: api.Cluster{Ranges: []api.Range{{ID: 0, To: channel.Buckets - 1}}}}, nil
}

func (n *fakeNode) Ready(ctx context.Context) error {
	if n.readyHook != nil {
		return n.readyHook(ctx)
	}
	return nil
}

// fakeStream gives a number of events, then ends or waits. The cursor of event
// k is "k"; a stream from cursor "k" begins with event k+1.
type fakeStream struct {
	next, last int
	size       int  // bytes of the data of each event, at least
	ends       bool // with io.EOF behind the last event; otherwise it waits

	mu     sync.Mutex
	pulled int
	closed bool
}

// streamFrom returns a stream behind a cursor.
func streamFrom(cursor string, last, size int) *fakeStream {
	after, _ := strconv.Atoi(cursor)
	return &fakeStream{next: after + 1, last: last, size: size}
}

func (s *fakeStream) Next(ctx context.Context) (api.StreamEvent, error) {
	if s.next > s.last {
		if s.ends {
			return api.StreamEvent{}, io.EOF
		}
		<-ctx.Done()
		return api.StreamEvent{}, ctx.Err()
	}
	k := s.next
	s.next++
	s.mu.Lock()
	s.pulled++
	s.mu.Unlock()
	data := fmt.Sprintf(`{"version":%d,"diff":"%*s"}`, k, s.size, "")
	return api.StreamEvent{Type: api.StreamUpdate, ID: strconv.Itoa(k), Data: []byte(data)}, nil
}

func (s *fakeStream) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

func (s *fakeStream) state() (pulled int, closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pulled, s.closed
}
