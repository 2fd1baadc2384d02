package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
)

// TestPrints holds what each command prints for people and for programs.
func TestPrints(t *testing.T) {
	tests := []struct {
		golden string
		args   []string
	}{
		{"subscribe", []string{"subscribe", feedURL}},
		{"subscribe-webhook", []string{"subscribe", feedURL, "--sink", "webhook:https://hook.example/", "--wait", "0"}},
		{"subscribe-failing", []string{"subscribe", pageURL}},
		{"subscribe-gone", []string{"subscribe", goneURL}},
		{"unsubscribe", []string{"unsubscribe", "sub_aaaa", "sub_bbbb"}},
		{"forget", []string{"forget", feedURL, channel.IDOf(pageURL).String()}},
		{"subscriptions", []string{"subscriptions"}},
		{"subscriptions-of", []string{"subscriptions", "--channel", feedURL}},
		{"channels", []string{"channels"}},
		{"channels-full", []string{"channels", feedURL, channel.IDOf(pageURL).String(), busyURL, goneURL}},
		{"updates", []string{"updates", feedURL}},
		{"updates-none", []string{"updates", feedURL, "--after", "42"}},
		{"status", []string{"status"}},
		{"explain", []string{"explain", feedURL}},
		{"explain-budget", []string{"explain", pageURL}},
		{"explain-host", []string{"explain", busyURL}},
		{"explain-gone", []string{"explain", channel.IDOf(goneURL).String()}},
	}
	server := serveFake(t, fakeNode())
	for _, test := range tests {
		t.Run(test.golden, func(t *testing.T) {
			got := runCorona(t.Context(), "", append(test.args, "--server", server)...)
			if got.code != exitDone || got.errs != "" {
				t.Errorf("exit code %d, standard error %q", got.code, got.errs)
			}
			checkGolden(t, test.golden+".txt", got.out)
			got = runCorona(t.Context(), "", append(test.args, "--server", server, "--json")...)
			if got.code != exitDone || got.errs != "" || !json.Valid([]byte(got.out)) {
				t.Errorf("--json: exit code %d, standard error %q, valid JSON %v", got.code, got.errs, json.Valid([]byte(got.out)))
			}
			checkGolden(t, test.golden+".json", got.out)
		})
	}
}

func TestExport(t *testing.T) {
	server := serveFake(t, fakeNode())
	for golden, args := range map[string][]string{
		"export.txt":  {"export"},
		"export.opml": {"export", "--opml"},
	} {
		got := runCorona(t.Context(), "", append(args, "--server", server)...)
		if got.code != exitDone || got.errs != "" {
			t.Errorf("%s: exit code %d, standard error %q", golden, got.code, got.errs)
		}
		checkGolden(t, golden, got.out)
		var urls []string
		for entry, err := range readList(strings.NewReader(got.out)) {
			if err != nil {
				t.Fatalf("%s: import would say: %v", golden, err)
			}
			urls = append(urls, entry.url)
		}
		if want := feedURL + " " + pageURL + " " + busyURL; strings.Join(urls, " ") != want {
			t.Errorf("%s: import would read %v, want %s", golden, urls, want)
		}
	}
	got := runCorona(t.Context(), "", "export", "--json", "--server", server)
	if got.code != exitDone || got.errs != "" || !json.Valid([]byte(got.out)) {
		t.Errorf("--json: exit code %d, standard error %q, valid JSON %v", got.code, got.errs, json.Valid([]byte(got.out)))
	}
	checkGolden(t, "export.json", got.out)
}

// TestExportHalf: OPML and JSON that the node did not finish have no end.
func TestExportHalf(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/channels", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("after") != "" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		respond(w, http.StatusOK, api.Channels{Channels: fakeChannels(), Next: "x"})
	})
	server := serveFake(t, mux)
	got := runCorona(t.Context(), "", "export", "--opml", "--server", server)
	if got.code != exitUnreachable || !strings.Contains(got.out, feedURL) || strings.Contains(got.out, "</opml>") {
		t.Errorf("exit code %d, printed %s", got.code, got.out)
	}
	got = runCorona(t.Context(), "", "export", "--json", "--server", server)
	if got.code != exitUnreachable || json.Valid([]byte(got.out)) {
		t.Errorf("--json: exit code %d, printed %s", got.code, got.out)
	}
}

// TestSubscribeDoesNotWait: a first poll that its host holds up for longer than
// anybody waits is not waited for; why, is said.
func TestSubscribeDoesNotWait(t *testing.T) {
	asked := 0
	mux := fakeNode()
	node := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/v1/channels/") {
			mux.ServeHTTP(w, r)
			return
		}
		asked++
		until := time.Now().Add(time.Hour)
		respond(w, http.StatusOK, api.Channel{URL: busyURL, Waiting: &api.Waiting{For: api.WaitHost, Until: &until, Detail: "429"}})
	})
	server := serveFake(t, node)
	got := runCorona(t.Context(), "", "subscribe", busyURL, "--server", server)
	if got.code != exitDone || asked != 1 || !strings.Contains(got.out, "first poll     not yet") || !strings.Contains(got.out, "waits          its host is left alone, until ") {
		t.Errorf("exit code %d, asked %d times, printed %s", got.code, asked, got.out)
	}
	got = runCorona(t.Context(), "", "subscribe", busyURL, "--server", server, "--json")
	if got.code != exitDone || strings.Contains(got.out, "first_poll") {
		t.Errorf("--json: exit code %d, printed %s; there was no first poll", got.code, got.out)
	}
}

// TestSubscribeWaits: the first poll comes after the subscription, its commit
// after the poll.
func TestSubscribeWaits(t *testing.T) {
	asked := 0
	mux := fakeNode()
	node := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/v1/channels/") {
			mux.ServeHTTP(w, r)
			return
		}
		c := api.Channel{URL: pageURL, Kind: "html", SizeBytes: 10, NextPoll: at(44)}
		switch asked++; asked {
		case 1: // not polled
		case 2: // redirected, under way
			c.LastPoll = at(4)
		case 3:
			c.LastPoll, c.LastStatus = at(4), 200
		default:
			c.LastPoll, c.LastStatus, c.Version, c.FeedURL = at(4), 200, 1, "https://blog.example/feed?a=1&b=2"
		}
		respond(w, http.StatusOK, c)
	})
	got := runCorona(t.Context(), "", "subscribe", pageURL, "--server", serveFake(t, node))
	if got.code != exitDone || asked != 4 {
		t.Errorf("exit code %d, asked %d times, standard error %s", got.code, asked, got.errs)
	}
	checkGolden(t, "subscribe-page.txt", got.out)
}

func TestSubscribeGivesUpWaiting(t *testing.T) {
	mux := fakeNode()
	node := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v1/channels/") {
			respond(w, http.StatusOK, api.Channel{URL: pageURL})
			return
		}
		mux.ServeHTTP(w, r)
	})
	got := runCorona(t.Context(), "", "subscribe", pageURL, "--wait", "10ms", "--server", serveFake(t, node))
	if got.code != exitDone || !strings.Contains(got.out, "first poll     not yet") {
		t.Errorf("exit code %d, printed %s", got.code, got.out)
	}
}

// TestSubscribeSends holds what a node is asked for.
func TestSubscribeSends(t *testing.T) {
	t.Setenv("CORONA_SECRET", "whsec_c2VjcmV0")
	var got api.SubscribeRequest
	var key string
	node := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key = r.Header.Get("Idempotency-Key")
		json.NewDecoder(r.Body).Decode(&got)
		respond(w, http.StatusCreated, api.Subscription{ID: "sub_1"})
	})
	run := runCorona(t.Context(), "", "subscribe", "HTTPS://Example.com", "--sink", "webhook:http://h.example/?a:b",
		"--key", "k1", "--wait", "0", "--server", serveFake(t, node))
	want := api.SubscribeRequest{URL: "https://example.com/", Sink: api.Sink{Type: "webhook", URL: "http://h.example/?a:b", Secret: "whsec_c2VjcmV0"}}
	if run.code != exitDone || got != want || key != "k1" {
		t.Errorf("exit code %d; asked for %+v with key %q, want %+v", run.code, got, key, want)
	}
	if strings.Contains(run.out+run.errs, "c2VjcmV0") {
		t.Errorf("the secret is printed: %s%s", run.out, run.errs)
	}
}

func TestExitCodes(t *testing.T) {
	busy := serveFake(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		respond(w, http.StatusServiceUnavailable, api.NewProblem(http.StatusServiceUnavailable, "no\nmajority"))
	}))
	server := serveFake(t, fakeNode())
	tests := []struct {
		args []string
		code int
		want string // in standard error
	}{
		{[]string{"version"}, exitDone, ""},
		{[]string{"help", "settings"}, exitDone, ""},
		{[]string{"subscribe", "--help"}, exitDone, ""},
		{[]string{"completion", "bash"}, exitDone, ""},

		{[]string{"subscrib"}, exitUsage, `unknown command "subscrib"`},
		{[]string{"subscribe"}, exitUsage, "URL is missing (see corona subscribe --help)"},
		{[]string{"subscribe", "a", "b"}, exitUsage, `unexpected argument "b"`},
		{[]string{"unsubscribe"}, exitUsage, "ID is missing"},
		{[]string{"status", "x"}, exitUsage, `unexpected argument "x"`},
		{[]string{"status", "--intervall", "3"}, exitUsage, "unknown flag: --intervall (see corona status --help)"},
		{[]string{"status", "--server", "127.0.0.1:8410"}, exitUsage, `server "127.0.0.1:8410"`},
		{[]string{"subscribe", "ftp://example.com/"}, exitUsage, "only http and https"},
		{[]string{"subscribe", feedURL, "--sink", "webhook"}, exitUsage, `--sink "webhook"`},
		{[]string{"subscribe", feedURL, "--sink", "webhook:/x"}, exitUsage, `--sink "webhook:/x"`},
		{[]string{"subscribe", feedURL, "--sink", "xmpp:me@example.com"}, exitUsage, "webhook:URL"},
		{[]string{"loadgen", "nope"}, exitUsage, "unknown command"},
		{[]string{"loadgen"}, exitUsage, "COMMAND is missing"},
		{[]string{"subscribe", feedURL, "--sink", "carrier-pigeon"}, exitUsage, "carrier-pigeon"},
		{[]string{"subscribe", feedURL, "--secret", "whsec_x"}, exitUsage, "--secret"},
		{[]string{"subscribe", feedURL, "--wait", "5"}, exitUsage, `"5"`},
		{[]string{"subscriptions", "--channel", "nonsense"}, exitUsage, "--channel"},
		{[]string{"channels", "b559c7"}, exitUsage, "b559c7"},
		{[]string{"explain"}, exitUsage, "CHANNEL is missing"},
		{[]string{"explain", "b559c7"}, exitUsage, "b559c7"},
		{[]string{"export", "--json", "--opml"}, exitUsage, "json opml"},
		{[]string{"serve", "now"}, exitUsage, `unexpected argument "now" (see corona serve --help)`},
		{[]string{"serve", "--policy", "best"}, exitUsage, `policy "best"`},
		{[]string{"serve", "--ladder", "prefix:1"}, exitUsage, `ladder "prefix:1"`},
		{[]string{"serve", "--cost", "euros"}, exitUsage, `cost "euros"`},
		{[]string{"serve", "--budget", "0"}, exitUsage, "want auto, or a number above 0"},
		{[]string{"serve", "--maintenance", "0"}, exitUsage, "want a duration above 0"},
		{[]string{"updates", feedURL, "--after", "-1"}, exitUsage, `"-1"`},
		{[]string{"watch", "http://u:p@a/"}, exitUsage, "user name or password"},
		{[]string{"import", "testdata/none.txt"}, exitUsage, "testdata/none.txt"},
		{[]string{"import", "testdata"}, exitUsage, "directory"},
		{[]string{"status", "--config", "testdata/none.yaml"}, exitUsage, "testdata/none.yaml"},

		{[]string{"status", "--server", "http://127.0.0.1:1"}, exitUnreachable, `start one with "corona serve"`},
		{[]string{"status", "--server", busy}, exitUnreachable, "the node refused: Service Unavailable: no majority"},
		{[]string{"subscribe", feedURL, "--server", busy}, exitUnreachable, "the node refused"},
		{[]string{"subscriptions", "--server", busy}, exitUnreachable, "the node refused"},
		{[]string{"watch", "--server", busy}, exitUnreachable, "the node refused"},
		{[]string{"watch", feedURL, "--server", busy}, exitUnreachable, "the node refused"},
		{[]string{"export", "--server", busy}, exitUnreachable, "the node refused"},
		{[]string{"unsubscribe", "nonsense", "--server", server}, exitUnreachable, "nonsense: Not Found: no such subscription"},
		{[]string{"updates", "https://unknown.example/", "--server", busy}, exitUnreachable, "the node refused: https://unknown.example/: "},
		{[]string{"channels", "https://unknown.example/", "--server", server}, exitUnreachable, "https://unknown.example/: Not Found: no such channel"},
		{[]string{"explain", "https://unknown.example/", "--server", server}, exitUnreachable, "https://unknown.example/: Not Found: no such channel"},
	}
	for _, test := range tests {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			got := runCorona(t.Context(), "", test.args...)
			if got.code != test.code || !strings.Contains(got.errs, test.want) {
				t.Errorf("exit code %d, standard error %q; want %d and %q", got.code, got.errs, test.code, test.want)
			}
			if lines := strings.Count(got.errs, "\n"); test.want != "" && (lines != 1 || !strings.HasPrefix(got.errs, "corona: ")) && test.args[0] != "watch" {
				t.Errorf("standard error is not one line of the program's: %q", got.errs)
			}
		})
	}
}
