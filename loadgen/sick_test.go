package loadgen

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/originaudit"
)

// Of each kind there are as many hosts as its share says, one at least, and the same ones each
// time.
func TestWard(t *testing.T) {
	count := func(w *ward) (text string) {
		kinds := make(map[sickness]int)
		for host := range w.hosts {
			kinds[w.of(host)]++
		}
		return fmt.Sprintf("%d slow, %d hanging, %d refusing, %d harmful", kinds[late]+kinds[dripping], kinds[hanging], kinds[refusing], kinds[harmful])
	}
	for _, test := range []struct {
		sick  Sick
		hosts int
		want  string
	}{
		{Sick{Slow: 0.05, Hanging: 0.05, Refusing: 0.05, Harmful: 0.02}, 500, "25 slow, 25 hanging, 25 refusing, 10 harmful"},
		{Sick{Slow: 0.05, Harmful: 0.02}, 3, "1 slow, 0 hanging, 0 refusing, 1 harmful"},
		{Sick{Hanging: 1}, 4, "0 slow, 4 hanging, 0 refusing, 0 harmful"},
	} {
		w := newWard(test.sick, test.hosts, Schedule{1})
		if got := count(w); got != test.want {
			t.Errorf("%+v of %d hosts: %s, want %s", test.sick, test.hosts, got, test.want)
		}
		if !slices.Equal(w.hosts, newWard(test.sick, test.hosts, Schedule{1}).hosts) {
			t.Errorf("%+v: other hosts the second time", test.sick)
		}
	}
	if w := newWard(Sick{}, 5, Schedule{1}); w != nil || w.of(3) != healthy {
		t.Error("without shares a host is sick")
	}
}

// audited keeps what an origin tells of requests.
type audited struct {
	sync.Mutex
	log   originaudit.Log
	polls []Poll
}

func (a *audited) audit(e originaudit.Exchange) {
	a.Lock()
	defer a.Unlock()
	a.log = append(a.log, e)
}

func (a *audited) observe(p Poll) {
	a.Lock()
	defer a.Unlock()
	a.polls = append(a.polls, p)
}

// heard returns what was told of requests, once so many have ended or after ten seconds: a sick
// host ends some on connections of its own, for which the server does not wait.
func (a *audited) heard(requests int) (originaudit.Log, []Poll) {
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		a.Lock()
		log, polls := slices.Clone(a.log), slices.Clone(a.polls)
		a.Unlock()
		if len(log) >= requests || time.Now().After(deadline) {
			return log, polls
		}
	}
}

// start serves an origin of one sick host, a channel on it.
func (a *audited) start(t *testing.T, sick Sick) (url string, stop func()) {
	t.Helper()
	o, err := NewOrigin(Config{Listen: "127.20.1.1:0", Channels: 1, Faults: Faults{Sick: sick}, Observe: a.observe, Audit: a.audit})
	if err != nil {
		t.Fatal(err)
	}
	listeners, err := o.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return o.URL(0), serve(t, o, listeners...)
}

func ask(ctx context.Context, client *http.Client, url string) (status int, retryAfter string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, response.Header.Get("Retry-After"), err
}

// A host that refuses answers well one time in three, and tells its observers of each rest.
func TestRefusingHost(t *testing.T) {
	var heard audited
	url, stop := heard.start(t, Sick{Refusing: 1})
	client := &http.Client{Transport: new(http.Transport), Timeout: 10 * time.Second}
	text := ""
	for range 4 {
		status, after, err := ask(t.Context(), client, url)
		if err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintf("%d %q;", status, after)
	}
	client.CloseIdleConnections()
	stop()
	if text != `200 "";429 "20";429 "20";200 "";` {
		t.Error(text)
	}
	log, polls := heard.heard(4)
	for i, p := range polls {
		if refused := i == 1 || i == 2; p.Rest != refused || (p.Revision == 0) != refused {
			t.Errorf("poll %d: %+v", i, p)
		}
	}
	found := originaudit.Audit(log, originaudit.Policy{Slack: time.Second, Contact: "us"})
	if len(log) != 4 || log[1].Said.Fields.Get("Retry-After") != "20" || !slices.ContainsFunc(found, func(v originaudit.Violation) bool { return v.Kind == originaudit.Agent }) {
		t.Errorf("%d requests, found %v", len(log), found)
	}
}

// A host that hangs answers nothing as long as its reader waits, and does not keep the origin
// from ending; what it harms with comes over the wire.
func TestHangingAndHarmfulHosts(t *testing.T) {
	var heard audited
	url, stop := heard.start(t, Sick{Hanging: 1})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	client := &http.Client{Transport: new(http.Transport)}
	if status, _, err := ask(ctx, client, url); ctx.Err() == nil {
		t.Errorf("answered %d, %v", status, err)
	}
	waits := make(chan error, 1)
	go func() {
		_, _, err := ask(t.Context(), client, url)
		waits <- err
	}()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		heard.Lock()
		asked := len(heard.polls)
		heard.Unlock()
		if asked == 2 {
			break
		}
	}
	stop()
	if err := <-waits; err == nil {
		t.Error("a whole answer came")
	}
	if log, polls := heard.heard(2); len(polls) != 2 || len(log) != 2 || polls[0].Revision != 0 || log[0].Said.Status != 0 || log[1].Answered.IsZero() {
		t.Errorf("observed %+v, audited %+v", polls, log)
	}

	var harmed audited
	url, stop = harmed.start(t, Sick{Harmful: 1})
	ctx, cancel = context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	status, _, err := ask(ctx, &http.Client{Transport: &http.Transport{DisableCompression: true}}, url)
	stop()
	if log, _ := harmed.heard(1); err != nil || status != 200 || len(log) != 1 || !log[0].Said.Doubtful { // the first row: a bomb, as it is
		t.Errorf("%d, %v, audited %+v", status, err, log)
	}
}
