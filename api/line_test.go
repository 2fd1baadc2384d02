package api

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/channel"
)

// asJSON is a line as encoding/json writes it.
func asJSON(t interface{ Fatal(...any) }, value any) string {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		t.Fatal(err)
	}
	return line.String()
}

// strings of all kinds, but mostly of the usual one.
var texts = rapid.OneOf(rapid.StringMatching(`[a-z:/.?&=%-]*`), rapid.String(), rapid.SampledFrom([]string{"", "sse", "webhook", "a\"b", "a\\b", "\u2028", "\xff", "\x7f", "<&>"}))

func drawSink(t *rapid.T) Sink {
	return Sink{Type: texts.Draw(t, "type"), URL: texts.Draw(t, "sink url"), Secret: texts.Draw(t, "secret")}
}

func drawResult(t *rapid.T) BatchResult {
	created := time.Unix(rapid.Int64Range(-62135596800, 253402300799).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).UTC()
	made := &Subscription{
		ID: texts.Draw(t, "id"), Channel: channel.IDOf(texts.Draw(t, "channel")), URL: texts.Draw(t, "url"),
		Sink: drawSink(t), Created: created, FromVersion: rapid.Uint64().Draw(t, "from"), State: texts.Draw(t, "state"),
		DeliveredVersion: rapid.Uint64().Draw(t, "delivered"),
	}
	if rapid.IntRange(0, 3).Draw(t, "trouble") == 0 {
		made.LastError, made.FailingSince = texts.Draw(t, "error"), &created
	}
	return BatchResult{Subscription: made, Existing: rapid.Bool().Draw(t, "existing")}
}

// What is written by hand is what encoding/json writes, and is read back the same.
func TestLinesAreJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		request := SubscribeRequest{URL: texts.Draw(t, "url"), Sink: drawSink(t), Key: texts.Draw(t, "key"), Once: rapid.Bool().Draw(t, "once")}
		line := string(request.AppendLine([]byte("before ")))
		if want := "before " + asJSON(t, request); line != want {
			t.Fatalf("request %q, want %q", line, want)
		}
		checkRequestLine(t, []byte(strings.TrimPrefix(line, "before ")))
		result := drawResult(t)
		answer := result.AppendLine(nil)
		if want := asJSON(t, result); string(answer) != want {
			t.Fatalf("result %q, want %q", answer, want)
		}
		checkResultLine(t, answer)
	})
}

// A field that is added to a type and forgotten here would be lost: with all
// fields set the two ways must still agree.
func TestLinesHaveEveryField(t *testing.T) {
	for name, fields := range map[string]struct{ have, want int }{
		"SubscribeRequest": {reflect.TypeFor[SubscribeRequest]().NumField(), 4},
		"Sink":             {reflect.TypeFor[Sink]().NumField(), 3},
		"Subscription":     {reflect.TypeFor[Subscription]().NumField(), 10},
		"BatchResult":      {reflect.TypeFor[BatchResult]().NumField(), 3},
	} {
		if fields.have != fields.want {
			t.Errorf("%s has %d fields, its lines know %d", name, fields.have, fields.want)
		}
	}
}

// The usual lines go the fast way: the property above would hold if none did.
func TestUsualLinesAreScanned(t *testing.T) {
	for _, line := range []string{
		`{"url":"https://example.com/a?b=1&c=2","sink":{"type":"sse"}}`,
		`{"url":"https://example.com/","sink":{"type":"webhook","url":"https://example.com/hook","secret":"whsec_x"},"key":"k"}` + "\n",
		`{"url":"https://example.com/","sink":{"type":"sse"},"once":true}` + "\n",
		`{ "key" : "k", "sink" : { "type" : "sse" } , "url" : "https://example.com/" }` + "\r\n",
		`{}`,
	} {
		if !new(SubscribeRequest).ScanLine([]byte(line)) {
			t.Errorf("not scanned: %s", line)
		}
		checkRequestLine(t, []byte(line))
	}
	made := exampleSubscription()
	made.LastError, made.FailingSince = "", nil
	result := BatchResult{Subscription: &made, Existing: true}
	if !new(BatchResult).scanLine(result.AppendLine(nil), &Subscription{}) {
		t.Errorf("not scanned: %s", result.AppendLine(nil))
	}
}

// checkRequestLine: a line that is scanned is one that encoding/json accepts with
// no unknown fields and nothing behind it, and says the same.
func checkRequestLine(t interface{ Fatalf(string, ...any) }, line []byte) {
	scanned := SubscribeRequest{URL: "before", Sink: Sink{Type: "sse", URL: "before", Secret: "before"}, Key: "before"}
	if !scanned.ScanLine(line) {
		return
	}
	var strict SubscribeRequest
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&strict); err != nil || strict != scanned {
		t.Fatalf("%q: scanned %+v; encoding/json %+v, %v", line, scanned, strict, err)
	}
	if _, err := decoder.Token(); err == nil || err.Error() != "EOF" {
		t.Fatalf("%q: scanned, but something follows", line)
	}
}

func checkResultLine(t interface{ Fatalf(string, ...any) }, line []byte) {
	var scanned, strict BatchResult
	if !scanned.scanLine(line, &Subscription{URL: "before", State: StateActive}) {
		return
	}
	if err := json.Unmarshal(line, &strict); err != nil || !reflect.DeepEqual(strict, scanned) {
		t.Fatalf("%q: scanned %+v %+v; encoding/json %+v %+v, %v", line, scanned, scanned.Subscription, strict, strict.Subscription, err)
	}
}

func FuzzLines(f *testing.F) {
	made := exampleSubscription()
	made.LastError, made.FailingSince = "", nil
	result := BatchResult{Subscription: &made, Existing: true}
	f.Add(result.AppendLine(nil))
	for _, seed := range []string{
		`{"url":"https://example.com/","sink":{"type":"webhook","url":"u","secret":"s"},"key":"k"}`, `{"url":"a","url":"b"}`, `{"URL":"a"}`,
		`{"sink":{},"sink":null}`, `{"id":"a","from_version":01,"created":"2026-11-20T09:30:15.25Z","failing_since":null}`,
		`{"id":"a","channel":"0000000000000000000000000000000000000000","existing":false}`, ` {"id":"","delivered_version":999999999999999999} `,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		checkRequestLine(t, line)
		checkResultLine(t, line)
	})
}

// What does a line cost to write and to read, without a connection?
//
//	go test -run '^$' -bench Line -benchmem ./api
func BenchmarkLine(b *testing.B) {
	request := SubscribeRequest{URL: "https://feeds.example.com/blogs/4711/posts.xml", Sink: Sink{Type: SinkSSE}, Key: "import-0123456789abcdef0123456789abcdef"}
	made := exampleSubscription()
	made.LastError, made.FailingSince = "", nil
	result := BatchResult{Subscription: &made}
	requestLine, resultLine := request.AppendLine(nil), result.AppendLine(nil)
	for name, work := range map[string]func(){
		"write request": func() { requestLine = request.AppendLine(requestLine[:0]) },
		"read request":  func() { request.ScanLine(requestLine) },
		"write result":  func() { resultLine = result.AppendLine(resultLine[:0]) },
		"read result":   func() { result.scanLine(resultLine, &made) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				work()
			}
		})
	}
}
