package notify

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/notify/internal/memstore"
	"github.com/seed-91e7e7c1/corona/notify/stream"
	"github.com/seed-91e7e7c1/corona/notify/webhook"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// How long does an update take from its commit to all webhooks of its channel, and
// how many deliveries a second is that? One channel, 1,000 subscriptions over 100
// endpoints of one server on loopback, signed; positions are saved. The server
// shares the machine's cores.
//
//	go test -run - -bench FanOut -benchtime 50x ./notify
//
// deliveries/s counts; p99-ms is from the commit to the server's handler.
func BenchmarkFanOut(b *testing.B) {
	const subscribers, endpoints = 1000, 100
	sink := newTimedSink(b)
	store, notifier := benchNode(b)
	id := store.AddChannel("http://origin.example/")
	for i := range subscribers {
		store.Subscribe(id, fmt.Sprintf("%s/%d", sink.url, i%endpoints), secret)
	}
	b.ResetTimer()
	for range b.N {
		sink.expect(subscribers)
		notifier.Committed(store.Commit(id), 1)
		sink.wait()
	}
	b.ReportMetric(float64(b.N*subscribers)/b.Elapsed().Seconds(), "deliveries/s")
	b.ReportMetric(sink.p99(), "p99-ms")
}

// What do 5,000 updates a second on as many channels cost a webhook and a stream?
// Open loop: commits are due by the clock, and delay counts from when they were due.
//
//	go test -run - -bench OpenLoop -benchtime 10000x ./notify
//
// p99-ms counts: committed → received.
func BenchmarkOpenLoop(b *testing.B) {
	const rate = 5000
	for _, kind := range []string{"webhooks", "stream"} {
		b.Run(kind, func(b *testing.B) {
			store, notifier := benchNode(b)
			sink := newTimedSink(b)
			for i := range rate {
				id := store.AddChannel(fmt.Sprintf("http://origin.example/%d", i))
				if kind == "webhooks" {
					store.Subscribe(id, fmt.Sprintf("%s/%d", sink.url, i%100), secret)
				}
			}
			channels, _ := store.ChannelsIn(memstore.Everything, nil, rate)
			sink.expect(b.N)
			if kind == "stream" {
				events, err := notifier.Stream(context.Background(), api.StreamFilter{}, "")
				if err != nil {
					b.Fatal(err)
				}
				defer events.Close()
				go sink.follow(b, events)
			}
			b.ResetTimer()
			began, clock := time.Now(), time.NewTimer(0)
			<-clock.C
			for i := range b.N {
				due := began.Add(time.Duration(i) * time.Second / rate)
				clock.Reset(time.Until(due))
				<-clock.C
				sink.due(due)
				notifier.Committed(store.Commit(channels[i%rate].ID), 1)
			}
			sink.wait()
			b.ReportMetric(sink.p99(), "p99-ms")
		})
	}
}

// How long does an update take from its commit to the readers of some streams, when
// nothing else happens, and what does that cost?
//
//	go test -run - -bench StreamFanOut -benchtime 20000x -count 6 ./notify
//
// ns/op counts: one commit, read by all.
func BenchmarkStreamFanOut(b *testing.B) {
	for _, streams := range []int{1, 100} {
		b.Run(fmt.Sprint("streams=", streams), func(b *testing.B) {
			store, notifier := benchNode(b)
			id := store.AddChannel("http://origin.example/")
			var read sync.WaitGroup
			for range streams {
				events, err := notifier.Stream(b.Context(), api.StreamFilter{}, "")
				if err != nil {
					b.Fatal(err)
				}
				defer events.Close()
				go func() {
					for {
						if _, err := events.Next(b.Context()); err != nil {
							return
						}
						read.Done()
					}
				}()
			}
			b.ResetTimer()
			for range b.N {
				read.Add(streams)
				notifier.Committed(store.Commit(id), 1)
				read.Wait()
			}
		})
	}
}

func benchNode(b *testing.B) (*memstore.Store, *Notifier) {
	store := memstore.New()
	notifier, err := New(Config{Webhook: webhook.Config{AllowPrivate: true}, Stream: stream.Config{Epoch: 1}}, Stores{Webhooks: store, Streams: store}, nil)
	if err != nil {
		b.Fatal(err)
	}
	notifier.RangeGained(memstore.Everything, 1)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		notifier.Run(ctx)
	}()
	b.Cleanup(func() {
		cancel()
		<-done
	})
	return store, notifier
}

// timedSink takes messages and keeps how late each was.
type timedSink struct {
	url string

	mu       sync.Mutex
	all      sync.WaitGroup
	since    []time.Time // of the messages that are on their way
	came     int
	lateness []time.Duration
}

func newTimedSink(b *testing.B) *timedSink {
	s := &timedSink{}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		s.receive()
	})}
	go func() { _ = server.Serve(listener) }()
	b.Cleanup(func() { server.Close() })
	s.url = "http://" + listener.Addr().String()
	return s
}

func (s *timedSink) follow(b *testing.B, events *stream.Stream) {
	for range b.N {
		if _, err := events.Next(context.Background()); err != nil {
			b.Error(err)
			return
		}
		s.receive()
	}
}

func (s *timedSink) expect(n int) {
	s.all.Add(n)
	s.due(time.Now())
}

// due notes when the next message, or in a fan-out all of them, is due.
func (s *timedSink) due(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = append(s.since, at)
}

// receive takes the lateness of a message from the oldest that is on its way, which
// is a little too much when messages overtake one another.
func (s *timedSink) receive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := min(s.came, len(s.since)-1)
	s.came++
	s.lateness = append(s.lateness, time.Since(s.since[at]))
	s.all.Done()
}

func (s *timedSink) wait() { s.all.Wait() }

func (s *timedSink) p99() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.lateness)
	return float64(s.lateness[len(s.lateness)*99/100]) / 1e6
}
