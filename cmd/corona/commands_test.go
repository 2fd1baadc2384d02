package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/clitest"
)

// TestPrints holds what each command prints for people and for programs.
func TestPrints(t *testing.T) {
	tests := []struct {
		golden string
		args   []string
	}{
		{"subscribe", []string{"subscribe", clitest.FeedURL}},
		{"subscribe-webhook", []string{"subscribe", clitest.FeedURL, "--sink", "webhook:https://hook.example/", "--wait", "0"}},
		{"subscribe-failing", []string{"subscribe", clitest.PageURL}},
		{"subscribe-gone", []string{"subscribe", clitest.GoneURL}},
		{"unsubscribe", []string{"unsubscribe", "sub_aaaa", "sub_bbbb"}},
		{"forget", []string{"forget", clitest.FeedURL, channel.IDOf(clitest.PageURL).String()}},
		{"subscriptions", []string{"subscriptions"}},
		{"subscriptions-of", []string{"subscriptions", "--channel", clitest.FeedURL}},
		{"channels", []string{"channels"}},
		{"channels-full", []string{"channels", clitest.FeedURL, channel.IDOf(clitest.PageURL).String(), clitest.BusyURL, clitest.GoneURL}},
		{"updates", []string{"updates", clitest.FeedURL}},
		{"updates-none", []string{"updates", clitest.FeedURL, "--after", "42"}},
		{"status", []string{"status"}},
		{"explain", []string{"explain", clitest.FeedURL}},
		{"explain-budget", []string{"explain", clitest.PageURL}},
		{"explain-host", []string{"explain", clitest.BusyURL}},
		{"explain-gone", []string{"explain", channel.IDOf(clitest.GoneURL).String()}},
	}
	server := clitest.Serve(t, clitest.FakeNode())
	for _, test := range tests {
		t.Run(test.golden, func(t *testing.T) {
			got := runCorona(t.Context(), "", append(test.args, "--server", server)...)
			if got.Code != cli.ExitDone || got.Errs != "" {
				t.Errorf("exit code %d, standard error %q", got.Code, got.Errs)
			}
			clitest.CheckGolden(t, test.golden+".txt", got.Out)
			got = runCorona(t.Context(), "", append(test.args, "--server", server, "--json")...)
			if got.Code != cli.ExitDone || got.Errs != "" || !json.Valid([]byte(got.Out)) {
				t.Errorf("--json: exit code %d, standard error %q, valid JSON %v", got.Code, got.Errs, json.Valid([]byte(got.Out)))
			}
			clitest.CheckGolden(t, test.golden+".json", got.Out)
		})
	}
}

// TestSubscribeDoesNotWait: a first poll that its host holds up for longer than
// anybody waits is not waited for; why, is said.
func TestSubscribeDoesNotWait(t *testing.T) {
	asked := 0
	mux := clitest.FakeNode()
	node := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/v1/channels/") {
			mux.ServeHTTP(w, r)
			return
		}
		asked++
		until := time.Now().Add(time.Hour)
		clitest.Respond(w, http.StatusOK, api.Channel{URL: clitest.BusyURL, Waiting: &api.Waiting{For: api.WaitHost, Until: &until, Detail: "429"}})
	})
	server := clitest.Serve(t, node)
	got := runCorona(t.Context(), "", "subscribe", clitest.BusyURL, "--server", server)
	if got.Code != cli.ExitDone || asked != 1 || !strings.Contains(got.Out, "first poll     not yet") || !strings.Contains(got.Out, "waits          its host is left alone, until ") {
		t.Errorf("exit code %d, asked %d times, printed %s", got.Code, asked, got.Out)
	}
	got = runCorona(t.Context(), "", "subscribe", clitest.BusyURL, "--server", server, "--json")
	if got.Code != cli.ExitDone || strings.Contains(got.Out, "first_poll") {
		t.Errorf("--json: exit code %d, printed %s; there was no first poll", got.Code, got.Out)
	}
}

// TestSubscribeWaits: the first poll comes after the subscription, its commit
// after the poll.
func TestSubscribeWaits(t *testing.T) {
	asked := 0
	mux := clitest.FakeNode()
	node := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/v1/channels/") {
			mux.ServeHTTP(w, r)
			return
		}
		c := api.Channel{URL: clitest.PageURL, Kind: "html", SizeBytes: 10, NextPoll: clitest.At(44)}
		switch asked++; asked {
		case 1: // not polled
		case 2: // redirected, under way
			c.LastPoll = clitest.At(4)
		case 3:
			c.LastPoll, c.LastStatus = clitest.At(4), 200
		default:
			c.LastPoll, c.LastStatus, c.Version, c.FeedURL = clitest.At(4), 200, 1, "https://blog.example/feed?a=1&b=2"
		}
		clitest.Respond(w, http.StatusOK, c)
	})
	got := runCorona(t.Context(), "", "subscribe", clitest.PageURL, "--server", clitest.Serve(t, node))
	if got.Code != cli.ExitDone || asked != 4 {
		t.Errorf("exit code %d, asked %d times, standard error %s", got.Code, asked, got.Errs)
	}
	clitest.CheckGolden(t, "subscribe-page.txt", got.Out)
}

func TestSubscribeGivesUpWaiting(t *testing.T) {
	mux := clitest.FakeNode()
	node := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v1/channels/") {
			clitest.Respond(w, http.StatusOK, api.Channel{URL: clitest.PageURL})
			return
		}
		mux.ServeHTTP(w, r)
	})
	got := runCorona(t.Context(), "", "subscribe", clitest.PageURL, "--wait", "10ms", "--server", clitest.Serve(t, node))
	if got.Code != cli.ExitDone || !strings.Contains(got.Out, "first poll     not yet") {
		t.Errorf("exit code %d, printed %s", got.Code, got.Out)
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
		clitest.Respond(w, http.StatusCreated, api.Subscription{ID: "sub_1"})
	})
	run := runCorona(t.Context(), "", "subscribe", "HTTPS://Example.com", "--sink", "webhook:http://h.example/?a:b",
		"--key", "k1", "--wait", "0", "--server", clitest.Serve(t, node))
	want := api.SubscribeRequest{URL: "https://example.com/", Sink: api.Sink{Type: "webhook", URL: "http://h.example/?a:b", Secret: "whsec_c2VjcmV0"}}
	if run.Code != cli.ExitDone || got != want || key != "k1" {
		t.Errorf("exit code %d; asked for %+v with key %q, want %+v", run.Code, got, key, want)
	}
	if strings.Contains(run.Out+run.Errs, "c2VjcmV0") {
		t.Errorf("the secret is printed: %s%s", run.Out, run.Errs)
	}
}

func TestExitCodes(t *testing.T) {
	busy := clitest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		clitest.Respond(w, http.StatusServiceUnavailable, api.NewProblem(http.StatusServiceUnavailable, "no\nmajority"))
	}))
	server := clitest.Serve(t, clitest.FakeNode())
	tests := []struct {
		args []string
		code int
		want string // in standard error
	}{
		{[]string{"version"}, cli.ExitDone, ""},
		{[]string{"help", "settings"}, cli.ExitDone, ""},
		{[]string{"subscribe", "--help"}, cli.ExitDone, ""},
		{[]string{"completion", "bash"}, cli.ExitDone, ""},

		{[]string{"subscrib"}, cli.ExitUsage, `unknown command "subscrib"`},
		{[]string{"subscribe"}, cli.ExitUsage, "URL is missing (see corona subscribe --help)"},
		{[]string{"subscribe", "a", "b"}, cli.ExitUsage, `unexpected argument "b"`},
		{[]string{"unsubscribe"}, cli.ExitUsage, "ID is missing"},
		{[]string{"status", "x"}, cli.ExitUsage, `unexpected argument "x"`},
		{[]string{"status", "--intervall", "3"}, cli.ExitUsage, "unknown flag: --intervall (see corona status --help)"},
		{[]string{"status", "--server", "127.0.0.1:8410"}, cli.ExitUsage, `server "127.0.0.1:8410"`},
		{[]string{"subscribe", "ftp://example.com/"}, cli.ExitUsage, "only http and https"},
		{[]string{"subscribe", clitest.FeedURL, "--sink", "webhook"}, cli.ExitUsage, `--sink "webhook"`},
		{[]string{"subscribe", clitest.FeedURL, "--sink", "webhook:/x"}, cli.ExitUsage, `--sink "webhook:/x"`},
		{[]string{"subscribe", clitest.FeedURL, "--sink", "xmpp:me@example.com"}, cli.ExitUsage, "webhook:URL"},
		{[]string{"loadgen", "nope"}, cli.ExitUsage, "unknown command"},
		{[]string{"loadgen"}, cli.ExitUsage, "COMMAND is missing"},
		{[]string{"subscribe", clitest.FeedURL, "--sink", "carrier-pigeon"}, cli.ExitUsage, "carrier-pigeon"},
		{[]string{"subscribe", clitest.FeedURL, "--secret", "whsec_x"}, cli.ExitUsage, "--secret"},
		{[]string{"subscribe", clitest.FeedURL, "--wait", "5"}, cli.ExitUsage, `"5"`},
		{[]string{"subscriptions", "--channel", "nonsense"}, cli.ExitUsage, "--channel"},
		{[]string{"channels", "b559c7"}, cli.ExitUsage, "b559c7"},
		{[]string{"explain"}, cli.ExitUsage, "CHANNEL is missing"},
		{[]string{"explain", "b559c7"}, cli.ExitUsage, "b559c7"},
		{[]string{"export", "--json", "--opml"}, cli.ExitUsage, "json opml"},
		{[]string{"serve", "now"}, cli.ExitUsage, `unexpected argument "now" (see corona serve --help)`},
		{[]string{"serve", "--policy", "best"}, cli.ExitUsage, `policy "best"`},
		{[]string{"serve", "--ladder", "prefix:1"}, cli.ExitUsage, `ladder "prefix:1"`},
		{[]string{"serve", "--cost", "euros"}, cli.ExitUsage, `cost "euros"`},
		{[]string{"serve", "--budget", "0"}, cli.ExitUsage, "want auto, or a number above 0"},
		{[]string{"serve", "--maintenance", "0"}, cli.ExitUsage, "want a duration above 0"},
		{[]string{"updates", clitest.FeedURL, "--after", "-1"}, cli.ExitUsage, `"-1"`},
		{[]string{"watch", "http://u:p@a/"}, cli.ExitUsage, "user name or password"},
		{[]string{"import", "testdata/none.txt"}, cli.ExitUsage, "testdata/none.txt"},
		{[]string{"import", "testdata"}, cli.ExitUsage, "directory"},
		{[]string{"status", "--config", "testdata/none.yaml"}, cli.ExitUsage, "testdata/none.yaml"},

		{[]string{"status", "--server", "http://127.0.0.1:1"}, cli.ExitUnreachable, `start one with "corona serve"`},
		{[]string{"status", "--server", busy}, cli.ExitUnreachable, "the node refused: Service Unavailable: no majority"},
		{[]string{"subscribe", clitest.FeedURL, "--server", busy}, cli.ExitUnreachable, "the node refused"},
		{[]string{"subscriptions", "--server", busy}, cli.ExitUnreachable, "the node refused"},
		{[]string{"watch", "--server", busy}, cli.ExitUnreachable, "the node refused"},
		{[]string{"watch", clitest.FeedURL, "--server", busy}, cli.ExitUnreachable, "the node refused"},
		{[]string{"export", "--server", busy}, cli.ExitUnreachable, "the node refused"},
		{[]string{"unsubscribe", "nonsense", "--server", server}, cli.ExitUnreachable, "nonsense: Not Found: no such subscription"},
		{[]string{"updates", "https://unknown.example/", "--server", busy}, cli.ExitUnreachable, "the node refused: https://unknown.example/: "},
		{[]string{"channels", "https://unknown.example/", "--server", server}, cli.ExitUnreachable, "https://unknown.example/: Not Found: no such channel"},
		{[]string{"explain", "https://unknown.example/", "--server", server}, cli.ExitUnreachable, "https://unknown.example/: Not Found: no such channel"},
	}
	for _, test := range tests {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			got := runCorona(t.Context(), "", test.args...)
			if got.Code != test.code || !strings.Contains(got.Errs, test.want) {
				t.Errorf("exit code %d, standard error %q; want %d and %q", got.Code, got.Errs, test.code, test.want)
			}
			if lines := strings.Count(got.Errs, "\n"); test.want != "" && (lines != 1 || !strings.HasPrefix(got.Errs, "corona: ")) && test.args[0] != "watch" {
				t.Errorf("standard error is not one line of the program's: %q", got.Errs)
			}
		})
	}
}
