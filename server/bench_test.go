package server_test

import (
	"bufio"
	"net/http"
	"testing"

	"github.com/seed-91e7e7c1/corona/server"
)

// How many lines of a batch does the server itself take, over a connection and
// with a node that does nothing? ns/op is per line; the client that reads the
// answers is in it, without decoding them.
//
//	go test -run xxx -bench BatchLines -benchtime 500000x -count 6 ./server
func BenchmarkBatchLines(b *testing.B) {
	s, _ := newServer(b, &fakeNode{subscribeHook: echo}, server.Config{})
	listener := listen(b)
	run(b, s, listener)
	b.ReportAllocs()
	b.ResetTimer()
	response, err := http.Post("http://"+listener.Addr().String()+"/v1/subscriptions:batch", "application/x-ndjson", &numbered{count: b.N})
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close()
	answers, count := bufio.NewReader(response.Body), 0
	for {
		if _, err := answers.ReadSlice('\n'); err != nil {
			break
		}
		count++
	}
	if count != b.N {
		b.Fatalf("%d answers to %d lines", count, b.N)
	}
}

// What does one call cost without its connection?
//
//	go test -run xxx -bench Call -count 6 ./server
func BenchmarkCall(b *testing.B) {
	node := nodeWithChannels(1000)
	s, _ := newServer(b, node, server.Config{})
	for name, target := range map[string]string{"channel": "/v1/channels/" + node.channels[0].ID.String(), "list100": "/v1/channels", "status": "/v1/status"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if w := serve(s, request("GET", target, "")); w.Code != http.StatusOK {
					b.Fatal(w.Body)
				}
			}
		})
	}
}
