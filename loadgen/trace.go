package loadgen

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/klauspost/compress/zstd"
)

// What a trace file may hold at most, so that a wrong file ends in a message and
// not in all memory.
const (
	maxTraceWindow = 128 << 20 // of the zstd decoder, bytes
	maxTraceLine   = 256 << 20 // one capture with its escapes, bytes
	maxTraceBytes  = 4 << 30   // all bodies of a file
)

// ErrTrace is wrapped by every error about what a trace file holds.
var ErrTrace = errors.New("bad trace")

// Capture is one version of a recorded document.
type Capture struct {
	At   time.Duration // after the first capture
	Body []byte
}

// Trace is the recorded history of one document.
type Trace struct {
	ContentType string
	First       time.Time // when the first capture was taken
	Captures    []Capture // at least one, oldest first
}

// ReadTraceFile reads a history from a zstd-compressed file of JSON lines; see
// [ReadTrace].
func ReadTraceFile(name string) (*Trace, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	trace, err := ReadTrace(bufio.NewReaderSize(file, 1<<20))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return trace, nil
}

// ReadTrace reads a zstd-compressed stream of JSON lines, one per capture:
// {"t":1612345678,"body":"…"}, with t in Unix seconds, not decreasing, and "b64"
// instead of "body" where the document is not UTF-8. The media type is the first
// one recorded in "hdr", or told from the first document that is not empty.
func ReadTrace(compressed io.Reader) (*Trace, error) {
	decoder, err := zstd.NewReader(compressed, zstd.WithDecoderMaxWindow(maxTraceWindow), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer decoder.Close()
	reader := traceReader{lines: bufio.NewScanner(decoder)}
	reader.lines.Buffer(make([]byte, 0, 1<<20), maxTraceLine)
	for reader.lines.Scan() {
		if err := reader.add(reader.lines.Bytes()); err != nil {
			return nil, err
		}
	}
	if err := reader.lines.Err(); err != nil {
		return nil, fmt.Errorf("%w: after capture %d: %w", ErrTrace, len(reader.trace.Captures), err)
	}
	return reader.finish()
}

// record is one line of a trace.
type record struct {
	T      *float64          `json:"t"`
	Body   *string           `json:"body"`
	Base64 *string           `json:"b64"`
	Header map[string]string `json:"hdr"`
}

type traceReader struct {
	lines *bufio.Scanner
	trace Trace
	first float64 // t of the first capture
	bytes int
}

func (r *traceReader) add(line []byte) error {
	n := len(r.trace.Captures)
	var rec record
	if err := json.Unmarshal(line, &rec); err != nil {
		return fmt.Errorf("%w: capture %d: %w", ErrTrace, n, err)
	}
	body, err := rec.body()
	if err != nil {
		return fmt.Errorf("%w: capture %d: %w", ErrTrace, n, err)
	}
	at, err := r.at(rec.T)
	if err != nil {
		return fmt.Errorf("%w: capture %d: %w", ErrTrace, n, err)
	}
	if r.bytes += len(body); r.bytes > maxTraceBytes {
		return fmt.Errorf("%w: more than %d bytes", ErrTrace, maxTraceBytes)
	}
	if recorded := rec.Header["Content-Type"]; recorded != "" && r.trace.ContentType == "" {
		r.trace.ContentType = recorded
	}
	r.trace.Captures = append(r.trace.Captures, Capture{At: at, Body: body})
	return nil
}

// at returns how long after the first capture one was taken.
func (r *traceReader) at(t *float64) (time.Duration, error) {
	if t == nil {
		return 0, errors.New(`no time "t"`)
	}
	n := len(r.trace.Captures)
	if n == 0 {
		r.first = *t
		r.trace.First = time.Unix(0, int64(*t*float64(time.Second))).UTC()
	}
	seconds := *t - r.first
	if seconds < 0 || n > 0 && seconds < r.trace.Captures[n-1].At.Seconds() {
		return 0, fmt.Errorf(`time "t" %.0f is before the capture before`, *t)
	}
	if seconds > time.Duration(scheduleEnd).Seconds() {
		return 0, fmt.Errorf(`time "t" %.0f is more than 146 years after the first`, *t)
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

func (rec *record) body() ([]byte, error) {
	switch {
	case rec.Body != nil:
		return []byte(*rec.Body), nil
	case rec.Base64 != nil:
		return base64.StdEncoding.DecodeString(*rec.Base64)
	}
	return nil, errors.New(`neither "body" nor "b64"`)
}

func (r *traceReader) finish() (*Trace, error) {
	if len(r.trace.Captures) == 0 {
		return nil, fmt.Errorf("%w: no capture", ErrTrace)
	}
	for i := 0; r.trace.ContentType == "" && i < len(r.trace.Captures); i++ {
		r.trace.ContentType = sniff(r.trace.Captures[i].Body)
	}
	if r.trace.ContentType == "" {
		r.trace.ContentType = plainText
	}
	return &r.trace, nil
}

const plainText = "text/plain; charset=utf-8"

// sniff tells a document's media type from its beginning; "" when it is empty.
func sniff(body []byte) string {
	head := bytes.TrimSpace(bytes.TrimPrefix(body[:min(len(body), 4096)], []byte("\uFEFF")))
	has := func(s string) bool { return bytes.Contains(bytes.ToLower(head), []byte(s)) }
	switch {
	case len(head) == 0:
		return ""
	case head[0] == '{' || head[0] == '[':
		return "application/json"
	case has("<rss"):
		return contentTypes[RSS]
	case has("<feed"):
		return contentTypes[Atom]
	case has("<!doctype html") || has("<html"):
		return contentTypes[HTML]
	case has("<?xml"):
		return "application/xml"
	}
	return plainText
}

// Replay is a trace with the times at which its captures come to stand at an
// origin: as recorded, or a fixed step apart. Revision n is capture n, from 1.
type Replay struct {
	*Trace
	Step time.Duration // 0: as recorded, in the schedule's time
}

// ChangedAt returns when a revision comes to stand, in the schedule's time, or
// in real time where Step is set.
func (r Replay) ChangedAt(revision int64) time.Duration {
	if r.Step > 0 {
		return time.Duration(revision-1) * r.Step
	}
	return r.Captures[revision-1].At
}

// Revision returns the revision that stands at a time; the last stands for ever.
func (r Replay) Revision(at time.Duration) int64 {
	low, high := 1, len(r.Captures)
	for low < high {
		middle := (low + high + 1) / 2
		if r.ChangedAt(int64(middle)) <= at {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return int64(low)
}
