package ownership

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func testConfig(t testing.TB) Config {
	return Config{Dir: t.TempDir() + "/ownership", Node: "one"}
}

func open(t testing.TB, cfg Config) *Store {
	t.Helper()
	s, err := Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func wish(url, key string, sink Sink) NewSubscription {
	canonical, id, err := channel.Parse(url)
	if err != nil {
		panic(err)
	}
	return NewSubscription{URL: canonical, Channel: id, Sink: sink, Key: key}
}

func TestSmoke(t *testing.T) {
	cfg := testConfig(t)
	start := time.Now()
	s := open(t, cfg)
	t.Log("open", time.Since(start))
	var w []NewSubscription
	for i := range 1000 {
		w = append(w, wish(fmt.Sprintf("http://example.com/%d", i), fmt.Sprint(i), Sink{Type: "webhook", URL: "http://x/"}))
	}
	start = time.Now()
	for _, r := range s.Subscribe(context.Background(), w) {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	t.Log(time.Since(start))
	start = time.Now()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	t.Log("close", time.Since(start))
	start = time.Now()
	s = open(t, cfg)
	t.Log("reopen", time.Since(start))
	t.Log(s.Counts())
}
