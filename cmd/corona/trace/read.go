package trace

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/klauspost/compress/zstd"
)

// What a trace may hold, so that a wrong file ends in a message.
const (
	maxTraceWindow  = 128 << 20 // of the decoder, bytes
	maxTraceCapture = 64 << 20  // a line: a document and its escapes, bytes
)

// capture is one line of a trace: a document and when it was fetched.
type capture struct {
	Time   float64           `json:"t"` // Unix seconds
	Body   *string           `json:"body"`
	Base64 *string           `json:"b64"` // instead of body, for what is not UTF-8
	Header map[string]string `json:"hdr"`
}

// readTrace reads zstd-compressed JSON lines, one capture after the other.
func readTrace(r io.Reader) iter.Seq2[capture, error] {
	return func(yield func(capture, error) bool) {
		decoder, err := zstd.NewReader(r, zstd.WithDecoderMaxWindow(maxTraceWindow), zstd.WithDecoderConcurrency(1))
		if err != nil {
			yield(capture{}, err)
			return
		}
		defer decoder.Close()
		lines := bufio.NewScanner(decoder)
		lines.Buffer(make([]byte, 0, 1<<20), maxTraceCapture)
		for n := 1; lines.Scan(); n++ {
			var c capture
			err := json.Unmarshal(lines.Bytes(), &c)
			if err == nil && c.Body == nil && c.Base64 == nil {
				err = errors.New(`neither "body" nor "b64"`)
			}
			if err != nil {
				err = fmt.Errorf("line %d: %w", n, err)
			}
			if !yield(c, err) || err != nil {
				return
			}
		}
		err = lines.Err()
		if errors.Is(err, zstd.ErrMagicMismatch) {
			err = errors.New("not compressed with zstd")
		}
		if err != nil {
			yield(capture{}, err)
		}
	}
}

// document returns the captured bytes.
func (c *capture) document() ([]byte, error) {
	if c.Body != nil {
		return []byte(*c.Body), nil
	}
	return base64.StdEncoding.DecodeString(*c.Base64)
}
