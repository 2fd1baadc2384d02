package server_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/seed-91e7e7c1/corona/server"
)

var profileLink = regexp.MustCompile(`<a href="([^"]+)">`)

// Every link of the list of profiles leads to one, with the token that the list
// wants too, and nothing is told of the command line, on which a token may stand.
func TestProfiles(t *testing.T) {
	s, _ := newServer(t, &fakeNode{}, server.Config{Tokens: tokens(t, tokenA)})
	ask := func(target string) (int, string) {
		w := serve(s, request("GET", target, "", "Authorization", "Bearer "+tokenA))
		return w.Code, w.Body.String()
	}
	status, list := ask("/debug/pprof/")
	links := profileLink.FindAllStringSubmatch(list, -1)
	if status != http.StatusOK || len(links) < 8 {
		t.Fatalf("status %d, %d links: %s", status, len(links), list)
	}
	defer contend()()
	for _, link := range links {
		target := regexp.MustCompile(`seconds=\d+`).ReplaceAllString(link[1], "seconds=1")
		t.Run(target, func(t *testing.T) {
			if status, content := ask("/debug/pprof/" + target); status != http.StatusOK || content == "" {
				t.Errorf("status %d: %.200s", status, content)
			} else if name, _, _ := strings.Cut(target, "?"); name == "block" || name == "mutex" {
				wantContention(t, content)
			}
		})
	}
	for _, none := range []string{"cmdline", "nothing", "block?debug=1", "mutex?seconds=0", "block?seconds=301", "block?seconds=x"} {
		if status, content := ask("/debug/pprof/" + none); status/100 != 4 || !strings.Contains(content, `"detail"`) {
			t.Errorf("%s: status %d: %.200s", none, status, content)
		}
	}
}

// contend has two goroutines contend for a lock, and wait for each other, until it is
// called off.
func contend() (off func()) {
	var lock sync.Mutex
	var contenders sync.WaitGroup
	turns, done := make(chan struct{}), make(chan struct{})
	work := func() {
		defer contenders.Done()
		for {
			lock.Lock()
			for range 100_000 {
			}
			lock.Unlock()
			select {
			case <-turns:
			case turns <- struct{}{}:
			case <-done:
				return
			}
		}
	}
	contenders.Add(2)
	go work()
	go work()
	return func() {
		close(done)
		contenders.Wait()
	}
}

// wantContention checks that a profile has a sample of contend's work.
func wantContention(t *testing.T, packed string) {
	t.Helper()
	reader, err := gzip.NewReader(strings.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(content, []byte("server_test.contend.")) {
		t.Errorf("nothing of it is in the profile: %d bytes", len(content))
	}
}
