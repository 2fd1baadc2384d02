package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/internal/child"
)

// scenario is a running origin and node with their receivers.
type scenario struct {
	options
	step         time.Duration
	histories    []*history
	origin, node *child.Process
	originURL    string
	client       *api.Client
	webhook      *arrivals
	stream       *arrivals
}

// run replays and reports, and says whether everything arrived as it should.
func run(ctx context.Context, o options) (bool, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &scenario{options: o, step: 2 * o.interval, webhook: newArrivals(), stream: newArrivals()}
	for _, file := range o.traces {
		h, err := readHistory(file, o.captures)
		if err != nil {
			return false, err
		}
		s.histories = append(s.histories, h)
	}
	folder, err := os.MkdirTemp("", "corona-replay-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(folder)
	if err := s.start(ctx, folder); err != nil {
		return false, err
	}
	defer s.origin.Close()
	defer s.node.Close()
	if err := s.replay(ctx); err != nil {
		return false, err
	}
	truth, err := s.truth(ctx)
	if err != nil {
		return false, err
	}
	held := s.report(truth)
	return held, s.node.Stop()
}

// start begins the node first, so that the origin's first captures still stand
// when they are subscribed to.
func (s *scenario) start(ctx context.Context, folder string) error {
	binary, err := child.Build(ctx, folder)
	if err != nil {
		return err
	}
	node, err := child.FreeAddress(ctx)
	if err != nil {
		return err
	}
	origin, err := child.FreeAddress(ctx)
	if err != nil {
		return err
	}
	s.originURL = "http://" + origin
	if s.node, err = child.Begin(filepath.Join(folder, "node.log"), binary, "serve", "--data", filepath.Join(folder, "data"),
		"--listen", node, "--allow-private", "--interval", s.interval.String(), "--floor", (s.interval / 5).String()); err != nil {
		return err
	}
	if s.client, err = api.NewClient("http://"+node, nil); err != nil {
		return err
	}
	if err := child.AwaitURL(ctx, "http://"+node+"/readyz", s.node); err != nil {
		return err
	}
	args := []string{"loadgen", "origin", "--listen", origin, "--step", s.step.String()}
	for i, h := range s.histories {
		args = append(args, "--trace", s.traces[i], "--path", h.path)
	}
	if s.origin, err = child.Begin(filepath.Join(folder, "origin.log"), binary, args...); err != nil {
		return err
	}
	return child.AwaitURL(ctx, s.originURL+"/_channels", s.origin)
}

// replay subscribes and receives until the last capture has stood for its time.
func (s *scenario) replay(ctx context.Context) error {
	hook, err := serveHook(ctx, s.webhook)
	if err != nil {
		return err
	}
	var ids []string
	captures := 0
	for _, h := range s.histories {
		for _, sink := range []api.Sink{{Type: api.SinkWebhook, URL: hook}, {Type: api.SinkSSE}} {
			made, err := s.client.Subscribe(ctx, api.SubscribeRequest{URL: s.originURL + h.path, Sink: sink})
			if err != nil {
				return err
			}
			if sink.Type == api.SinkSSE {
				ids = append(ids, made.ID)
			}
		}
		captures = max(captures, h.captures)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(captures+1)*s.step)
	defer cancel()
	fmt.Fprintf(os.Stderr, "replaying %d captures of %d histories for %s\n", captures, len(s.histories), time.Duration(captures+1)*s.step)
	return follow(ctx, s.client, ids, s.stream)
}

// truth returns when each capture of each URL began to stand.
func (s *scenario) truth(ctx context.Context) (map[string]map[int]time.Time, error) {
	response, err := get(ctx, s.originURL+"/_truth")
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	began := make(map[string]map[int]time.Time)
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		var line struct {
			URL       string    `json:"url"`
			Revision  int       `json:"revision"`
			ChangedAt time.Time `json:"changed_at"`
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return nil, fmt.Errorf("read truth: %w", err)
		}
		if began[line.URL] == nil {
			began[line.URL] = make(map[int]time.Time)
		}
		began[line.URL][line.Revision-1] = line.ChangedAt
	}
	return began, nil
}

func get(ctx context.Context, url string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	return http.DefaultClient.Do(request)
}
