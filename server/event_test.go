package server

import (
	"bytes"
	"strings"
	"testing"

	"github.com/seed-91e7e7c1/corona/api"
)

// readEvents is the HTML standard's algorithm (section 9.2.6), by the letter.
func readEvents(stream string) (events []api.StreamEvent) {
	var event api.StreamEvent
	var data strings.Builder
	stream = strings.ReplaceAll(strings.ReplaceAll(stream, "\r\n", "\n"), "\r", "\n")
	for line := range strings.Lines(stream) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			if data.Len() > 0 {
				event.Data = []byte(strings.TrimSuffix(data.String(), "\n"))
				events = append(events, event)
			}
			event.Type = ""
			data.Reset()
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "event":
			event.Type = value
		case "data":
			data.WriteString(value + "\n")
		case "id":
			if !strings.Contains(value, "\x00") {
				event.ID = value
			}
		}
	}
	return events
}

func TestFrame(t *testing.T) {
	var buf bytes.Buffer
	for _, event := range []api.StreamEvent{
		{Type: "update", ID: "c1", Data: []byte(`{"version":2}`)},
		{Type: "reset", Data: []byte("{}")},
		{Type: "gap", ID: "x\ny", Data: []byte("{\n \"from\":2\r\n}")},
	} {
		buf.Write(frame(event))
	}
	want := "event: update\nid: c1\ndata: {\"version\":2}\n\n" +
		"event: reset\ndata: {}\n\n" +
		"event: gap\ndata: {\ndata:  \"from\":2\ndata: \ndata: }\n\n"
	if buf.String() != want {
		t.Errorf("have %q\nwant %q", &buf, want)
	}
}

// Whatever an event holds, it stays one event, and what can be kept is.
func FuzzFrame(f *testing.F) {
	f.Add("update", "c1", []byte(`{"version":2}`))
	f.Add("up\ndate", "c\r1", []byte("a\n\ndata: b\r\n\r\nevent: x"))
	f.Add("", "\x00", []byte("\n"))
	f.Fuzz(func(t *testing.T, kind, id string, data []byte) {
		if len(data) == 0 {
			return // our events have data; without it there is no event
		}
		framed := string(frame(api.StreamEvent{Type: kind, ID: id, Data: data}))
		events := readEvents(framed)
		if len(events) != 1 {
			t.Fatalf("%d events of one: %q", len(events), framed)
		}
		got := events[0]
		if breaks := "\r\n\x00"; !strings.ContainsAny(kind, breaks) && got.Type != kind || !strings.ContainsAny(id, breaks) && got.ID != id {
			t.Errorf("type %q, ID %q; want %q, %q", got.Type, got.ID, kind, id)
		}
		want := strings.ReplaceAll(string(data), "\r", "\n")
		if string(got.Data) != strings.TrimSuffix(want, "\n") {
			t.Errorf("data %q, want %q", got.Data, want)
		}
	})
}
