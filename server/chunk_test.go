package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/api"
)

// lines returns what a reader's chunks hold, and its last error.
func lines(t interface{ Fatalf(string, ...any) }, body io.Reader) (all []string, err error) {
	chunks := newChunkReader(body)
	for {
		c, err := chunks.next()
		if len(c.lines) > maxPieceLines || c.bytes > maxPieceBytes+maxBody {
			t.Fatalf("piece of %d lines, %d bytes", len(c.lines), c.bytes)
		}
		if err == nil && len(c.lines) == 0 {
			t.Fatalf("empty chunk")
		}
		for _, line := range c.lines {
			if line == nil {
				all = append(all, "too long")
			} else {
				all = append(all, string(line))
			}
		}
		if err != nil {
			return all, err
		}
	}
}

// What comes out is what a person would count as lines, however the network
// cuts the body.
func TestChunkLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var body strings.Builder
		var want []string
		for range rapid.IntRange(0, 20).Draw(t, "lines") {
			size := rapid.OneOf(rapid.IntRange(0, 40), rapid.IntRange(maxBody-2, maxBody+3), rapid.Just(3*maxBody)).Draw(t, "size")
			line := strings.Repeat(rapid.SampledFrom([]string{"a", "ä", " "}).Draw(t, "letter"), size)[:size]
			body.WriteString(line + rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end"))
			if len(line) > maxBody {
				line = "too long"
			}
			want = append(want, line)
		}
		text := body.String()
		if rapid.Bool().Draw(t, "last end missing") && len(want) > 0 && want[len(want)-1] != "" {
			text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
		}
		var reader io.Reader = strings.NewReader(text)
		if rapid.Bool().Draw(t, "halves") {
			reader = iotest.HalfReader(reader)
		}
		got, err := lines(t, iotest.DataErrReader(reader))
		if err != io.EOF || strings.Join(got, "\n") != strings.Join(want, "\n") || len(got) != len(want) {
			t.Fatalf("%d lines, want %d; %v", len(got), len(want), err)
		}
	})
}

// A body that breaks off gives its whole lines and the error, and no part of a
// line: half of one may read as another.
func TestChunkBrokenBody(t *testing.T) {
	broken := errors.New("connection reset")
	for _, rest := range []string{"", "half", strings.Repeat("x", 2*maxBody)} {
		got, err := lines(t, io.MultiReader(strings.NewReader("a\nb\n"+rest), iotest.ErrReader(broken)))
		if err != broken || strings.Join(got, " ") != "a b" {
			t.Errorf("%d bytes of a line: %q, %v", len(rest), got, err)
		}
	}
}

// A chunk is not held back for more.
func TestChunkIsWhatArrived(t *testing.T) {
	ours, theirs := io.Pipe()
	chunks := newChunkReader(ours)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		theirs.Write([]byte("a\nb\nhal"))
		theirs.Write([]byte("f\n"))
		theirs.Close()
	}()
	for _, want := range []string{"a b", "half", ""} {
		c, _ := chunks.next()
		if got := string(bytes.Join(c.lines, []byte(" "))); got != want {
			t.Errorf("chunk %q, want %q", got, want)
		}
	}
	<-sent
}

// FuzzParseLine: a line is accepted or refused, with the same words, as the
// strict decoder and the rules alone would have it, whatever the line before it
// left behind.
func FuzzParseLine(f *testing.F) {
	const good = `{"url":"https://example.com/","sink":{"type":"sse"},"key":"k"}`
	const hook = `{"url":"https://example.com/","sink":{"type":"webhook","url":"https://H.example"}}`
	for _, seed := range []string{good, hook, `{`, `[]`, `{}`, ``, ` `, `{"sink":[]}`, `{"a":1}`, "\xff", `{}{}`, `{"url":"a","url":"b"}`, `{"URL":"http://a"}`} {
		f.Add([]byte(good), []byte(seed))
		f.Add([]byte(hook), []byte(seed))
	}
	rules := Rules{}
	f.Fuzz(func(t *testing.T, before, line []byte) {
		parser := lineParser{rules: rules}
		_, _ = parser.parse(before)
		request, err := parser.parse(line)
		if strict, strictErr := parseStrictly(rules, line); jsonOf(err) != jsonOf(strictErr) || err == nil && request != strict {
			t.Fatalf("%q after %q: %+v, %v; by the rules %+v, %v", line, before, request, err, strict, strictErr)
		}
		if err != nil {
			if problem := problemOf(err); problem.Status < 400 || problem.Status > 499 || problem.Detail == "" {
				t.Fatalf("%q: %+v", line, problem)
			}
			return
		}
		// What was accepted once is accepted as it is kept, and stays as it is.
		if again, err := rules.Check(request); err != nil || again != request {
			t.Fatalf("%+v became %+v, %v", request, again, err)
		}
	})
}

// parseStrictly is what a line means.
func parseStrictly(rules Rules, line []byte) (request api.SubscribeRequest, err error) {
	if len(bytes.TrimSpace(line)) == 0 {
		return request, api.NewProblem(http.StatusBadRequest, "empty line")
	}
	if err := decode(line, &request); err != nil {
		return request, err
	}
	return rules.Check(request)
}

func jsonOf(err error) string {
	if err == nil {
		return ""
	}
	content, _ := json.Marshal(problemOf(err))
	return string(content)
}
