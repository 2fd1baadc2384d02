package server

import (
	"bytes"
	"strings"

	"github.com/seed-91e7e7c1/corona/api"
)

// frame returns an event as the HTML standard has it (section 9.2): a line for
// each field, data split at its line ends, an empty line behind. An ID or a type
// that would break the frame is left out; our own never would.
func frame(event api.StreamEvent) []byte {
	var frame bytes.Buffer
	frame.Grow(len(event.Data) + len(event.ID) + 64)
	field(&frame, "event", event.Type)
	field(&frame, "id", event.ID)
	for line := range bytes.Lines(oneLineEnd(event.Data)) {
		frame.WriteString("data: ")
		frame.Write(bytes.TrimSuffix(line, []byte("\n")))
		frame.WriteByte('\n')
	}
	frame.WriteByte('\n')
	return frame.Bytes()
}

// comment returns what clients pass over.
func comment(text string) []byte { return []byte(": " + text + "\n\n") }

func field(frame *bytes.Buffer, name, value string) {
	if value == "" || strings.ContainsAny(value, "\r\n\x00") {
		return
	}
	frame.WriteString(name)
	frame.WriteString(": ")
	frame.WriteString(value)
	frame.WriteByte('\n')
}

// oneLineEnd makes every line end of JSON text, where each is white space, a LF.
func oneLineEnd(data []byte) []byte {
	if bytes.IndexByte(data, '\r') < 0 {
		return data
	}
	return bytes.ReplaceAll(data, []byte("\r"), []byte("\n"))
}
