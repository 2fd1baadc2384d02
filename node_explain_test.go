package corona_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/seed-91e7e7c1/corona/api"
)

// TestExplainNoise: a number that is another at each look is passed over, and the
// explanation shows it in words of the page.
func TestExplainNoise(t *testing.T) {
	var looks atomic.Int64
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<html><body><h1>Harbour</h1><p>The ferry leaves at the pier.</p><p>Readers so far: %d</p></body></html>", 48_000+37*looks.Add(1))
	}))
	defer page.Close()
	node := open(t, t.TempDir())
	defer closeNode(t, node)
	id := subscribe(t, node, page.URL, "").Channel

	var why *api.Explanation
	until(t, node, id, func(*api.Channel) (learned bool) {
		var err error
		if why, err = node.Explain(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		return len(why.Noise) > 0
	})
	if noise := why.Noise[0]; noise.What != "number" || noise.Text != "far: …" || noise.Lines != 1 {
		t.Errorf("%+v", why.Noise)
	}
}
