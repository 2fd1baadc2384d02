package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/seed-91e7e7c1/corona/loadgen/scrape"
	"github.com/seed-91e7e7c1/corona/ownership"
	"google.golang.org/protobuf/encoding/protowire"
)

// TestSubscriptionSize: a subscription has as many bytes in the log as were asked for.
func TestSubscriptionSize(t *testing.T) {
	for _, size := range []int{leastSize, 256, mostSize} {
		n := &node{metrics: prometheus.NewRegistry()}
		var err error
		n.store, err = ownership.Open(context.Background(), ownership.Config{
			Dir: filepath.Join(t.TempDir(), "store"), Node: "one", Ranges: 1, SweepInterval: time.Hour, Registerer: n.metrics,
		})
		if err != nil {
			t.Fatal(err)
		}
		c := newSubscriptions(size)
		commands := httptest.NewServer(n.commandHandler())
		admin := httptest.NewServer(n.adminHandler())
		if err := send(commands.Client(), commands.URL, c, 1); err != nil {
			t.Error(err)
		}
		metrics, err := scrape.Read(context.Background(), admin.URL)
		if err != nil {
			t.Error(err)
		}
		commands.Close()
		admin.Close()
		if err := n.close(); err != nil {
			t.Error(err)
		}
		if got := metrics.Sum("corona_ownership_entry_bytes_total"); got != float64(size+entryHead) || metrics.Sum("corona_ownership_commands_total") != 1 {
			t.Errorf("a command of %d bytes made an entry of %.0f, want %d", size, got, size+entryHead)
		}
	}
}

// TestPut: a Put is a gRPC message of as many bytes as were asked for, and only status 0
// with a message acknowledges it.
func TestPut(t *testing.T) {
	const size = 256
	var answer func(w http.ResponseWriter)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || len(body) != grpcPrefix+size || r.ProtoMajor != 2 || r.Header.Get("Te") != "trailers" || string(body[:grpcPrefix]) != "\x00\x00\x00\x01\x00" {
			t.Errorf("%s %q, %d bytes that begin with %x, %v", r.Proto, r.Header, len(body), body[:min(len(body), grpcPrefix)], err)
			return
		}
		message := body[grpcPrefix:]
		field, _, n := protowire.ConsumeTag(message)
		key, m := protowire.ConsumeString(message[n:])
		if field != keyField || key != fmt.Sprintf(channelURL, 7) {
			t.Errorf("field %d is %q", field, key)
		}
		field, _, k := protowire.ConsumeTag(message[n+m:])
		value, _ := protowire.ConsumeBytes(message[n+m+k:])
		if field != valueField || n+m+k+protowire.SizeBytes(len(value)) != size {
			t.Errorf("field %d has %d bytes", field, len(value))
		}
		answer(w)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	trailer := func(status, message string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("Trailer", "Grpc-Status, Grpc-Message")
			_, _ = w.Write([]byte{0, 0, 0, 0, 0})
			w.Header().Set("Grpc-Status", status)
			w.Header().Set("Grpc-Message", message)
		}
	}
	for name, test := range map[string]struct {
		answer func(http.ResponseWriter)
		want   string // in the error; empty: acknowledged
	}{
		"committed":       {trailer("0", ""), ""},
		"refused":         {trailer("8", "etcdserver:%20no%20space"), "8: etcdserver: no space"},
		"without message": {func(w http.ResponseWriter) { w.Header().Set("Grpc-Status", "14") }, "14"},
		"empty":           {func(w http.ResponseWriter) { w.Header().Set("Grpc-Status", "0") }, "without a message"},
		"no gRPC":         {func(w http.ResponseWriter) { w.WriteHeader(http.StatusOK) }, "without a gRPC status"},
	} {
		answer = test.answer
		err := send(server.Client(), server.URL, newPuts(size), 7)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}
