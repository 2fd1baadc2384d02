package lists

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/clitest"
)

func TestExport(t *testing.T) {
	server := clitest.Serve(t, clitest.FakeNode())
	for golden, args := range map[string][]string{
		"export.txt":  {"export"},
		"export.opml": {"export", "--opml"},
	} {
		got := runCorona(t.Context(), "", append(args, "--server", server)...)
		if got.Code != cli.ExitDone || got.Errs != "" {
			t.Errorf("%s: exit code %d, standard error %q", golden, got.Code, got.Errs)
		}
		clitest.CheckGolden(t, golden, got.Out)
		var urls []string
		for entry, err := range readList(strings.NewReader(got.Out)) {
			if err != nil {
				t.Fatalf("%s: import would say: %v", golden, err)
			}
			urls = append(urls, entry.url)
		}
		if want := clitest.FeedURL + " " + clitest.PageURL + " " + clitest.BusyURL; strings.Join(urls, " ") != want {
			t.Errorf("%s: import would read %v, want %s", golden, urls, want)
		}
	}
	got := runCorona(t.Context(), "", "export", "--json", "--server", server)
	if got.Code != cli.ExitDone || got.Errs != "" || !json.Valid([]byte(got.Out)) {
		t.Errorf("--json: exit code %d, standard error %q, valid JSON %v", got.Code, got.Errs, json.Valid([]byte(got.Out)))
	}
	clitest.CheckGolden(t, "export.json", got.Out)
}

// TestExportHalf: OPML and JSON that the node did not finish have no end.
func TestExportHalf(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/channels", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("after") != "" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		clitest.Respond(w, http.StatusOK, api.Channels{Channels: clitest.FakeChannels(), Next: "x"})
	})
	server := clitest.Serve(t, mux)
	got := runCorona(t.Context(), "", "export", "--opml", "--server", server)
	if got.Code != cli.ExitUnreachable || !strings.Contains(got.Out, clitest.FeedURL) || strings.Contains(got.Out, "</opml>") {
		t.Errorf("exit code %d, printed %s", got.Code, got.Out)
	}
	got = runCorona(t.Context(), "", "export", "--json", "--server", server)
	if got.Code != cli.ExitUnreachable || json.Valid([]byte(got.Out)) {
		t.Errorf("--json: exit code %d, printed %s", got.Code, got.Out)
	}
}
