package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/loadgen"
)

func TestOriginUsage(t *testing.T) {
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"--trace", "a", "--trace", "b", "--path", "/x"}, "2 --trace but 1 --path"},
		{[]string{"--step", "5s"}, "without a --trace"},
		{[]string{"--listen", "0.0.0.0:9100"}, "127.0.0.0/8"},
		{[]string{"--channels", "0"}, "nothing to serve"},
		{[]string{"--hosts", "10001"}, "10001 hosts"},
		{[]string{"--hosts", "0"}, "--hosts 0"},
		{[]string{"--hosts", "-1"}, "-1 hosts"},
		{[]string{"--speedup", "0"}, "--speedup 0"},
		{[]string{"--speedup", "-1"}, "speedup -1"},
		{[]string{"--listen", ""}, "--listen"},
		{[]string{"--retry-after", "0"}, `--retry-after "0": want a duration above 0`},
		{[]string{"--max-rate", "-1"}, "max rate -1"},
		{[]string{"--max-age", "10ms"}, "max age 10ms"},
		{[]string{"--trace", "none.zst", "--path", "/x"}, "none.zst"},
		{[]string{"extra"}, `unexpected argument "extra"`},
	}
	for _, test := range tests {
		got := runCorona(t.Context(), "", append([]string{"loadgen", "origin"}, test.args...)...)
		if got.Code != cli.ExitUsage || got.Out != "" || !strings.Contains(got.Errs, test.want) || strings.Count(got.Errs, "\n") != 1 {
			t.Errorf("%v: exit code %d, %q, %q; want one line with %q", test.args, got.Code, got.Out, got.Errs, test.want)
		}
	}
}

// TestTakenAddress: whoever serves and cannot have the address ends as a node does
// that refuses.
func TestTakenAddress(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	address := taken.Addr().String()
	for _, args := range [][]string{
		{"loadgen", "origin", "--listen", address},
		{"serve", "--listen", address, "--data", filepath.Join(t.TempDir(), "data")},
	} {
		got := runCorona(t.Context(), "", args...)
		if got.Code != cli.ExitUnreachable || got.Out != "" || !strings.Contains(got.Errs, "address already in use") || strings.Count(got.Errs, "\n") != 1 {
			t.Errorf("%v: exit code %d, %q, %q; want %d and one line that says why", args, got.Code, got.Out, got.Errs, cli.ExitUnreachable)
		}
	}
}

func TestOriginPairsTracesWithPaths(t *testing.T) {
	flags := originFlags{traces: []string{"a", "b"}, paths: []string{"/x", "/y"}, channels: defaultChannels, listen: loadgen.DefaultListen, hosts: 1, speedup: 1, rest: time.Minute}
	config, err := flags.config(false)
	if err != nil || config.Channels != 0 || len(config.Traces) != 2 || config.Traces[1] != (loadgen.TraceConfig{File: "b", Path: "/y"}) {
		t.Errorf("config = %+v, %v; want two traces and no synthetic channel", config, err)
	}
	if config, err := flags.config(true); err != nil || config.Channels != defaultChannels {
		t.Errorf("with --channels: %d channels, %v", config.Channels, err)
	}
}

func TestOriginServes(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := runOrigin(ctx, loadgen.Config{Listen: "127.0.0.1:0", Channels: 3, Seed: 9}, originPrinter{writer, true})
		ended <- err
		_ = writer.CloseWithError(err) // never fails
	}()
	lines := json.NewDecoder(bufio.NewReader(reader))
	var start originStart
	if err := lines.Decode(&start); err != nil || start.Channels != 3 || start.Hosts != 1 || start.Seed != 9 {
		t.Fatalf("start %+v, %v", start, err)
	}
	transport := new(http.Transport)
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Get(start.URL + "/_channels")
	if err != nil {
		t.Fatal(err)
	}
	list, err := io.ReadAll(response.Body)
	_ = response.Body.Close() // read to its end
	if err != nil || strings.Count(string(list), start.URL) != 3 {
		t.Errorf("channels %q, %v", list, err)
	}
	stop()
	var end originEnd
	if err := lines.Decode(&end); err != nil || end != (originEnd{}) {
		t.Errorf("end %+v, %v: a list is no poll", end, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
