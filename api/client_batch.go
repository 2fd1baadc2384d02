package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"sync/atomic"
)

const (
	batchBlock     = 32 << 10 // bytes of request lines that are sent together
	batchBuffer    = 64 << 10 // bytes of the answer that are read together
	maxBatchAnswer = 1 << 20  // bytes of one line of the answer
)

// Batch makes many subscriptions over one streaming request and yields one
// result per request, in their order; a result with an Error made none. Memory
// does not grow with their number: requests are taken as fast as the node takes
// them. They are sent in blocks of some hundred lines, so whoever waits for a
// result before giving the next request waits for ever.
//
// requests is called from another goroutine, which has ended when the loop over
// the results has. An error ends the loop: what was not answered by then may or
// may not have been done, and may be repeated where it carries a Key.
func (c *Client) Batch(ctx context.Context, requests iter.Seq[SubscribeRequest]) iter.Seq2[BatchResult, error] {
	return func(yield func(BatchResult, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		lines := newBatchLines(requests)
		defer lines.stop()
		header := http.Header{"Content-Type": {"application/x-ndjson"}}
		response, err := c.send(ctx, http.MethodPost, "/v1/subscriptions:batch", header, lines.pipe)
		if err != nil {
			yield(BatchResult{}, err)
			return
		}
		defer response.Body.Close()
		answered, err := readBatch(response.Body, yield)
		if errors.Is(err, errStopped) {
			return
		}
		if err == nil {
			err = lines.check(answered)
		}
		if err != nil {
			yield(BatchResult{}, &CallError{c.base, err})
		}
	}
}

// errStopped says that the loop over the results was left.
var errStopped = errors.New("stopped")

// readBatch yields results until the body ends and returns their number.
func readBatch(body io.Reader, yield func(BatchResult, error) bool) (answered uint64, err error) {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, batchBuffer), maxBatchAnswer)
	last := &Subscription{}
	for lines.Scan() {
		result, err := readResult(lines.Bytes(), last)
		if err != nil {
			return answered, fmt.Errorf("read line %d of the answer: %w", answered+1, err)
		}
		if (result.Subscription == nil) == (result.Error == nil) {
			return answered, fmt.Errorf("line %d of the answer is neither a subscription nor an error", answered+1)
		}
		if result.Subscription != nil {
			last = result.Subscription
		}
		answered++
		if !yield(result, nil) {
			return answered, errStopped
		}
	}
	if err := lines.Err(); err != nil {
		return answered, fmt.Errorf("read line %d of the answer: %w", answered+1, err)
	}
	return answered, nil
}

// readResult reads a line of the answer; last is the one before.
func readResult(line []byte, last *Subscription) (result BatchResult, err error) {
	if result.scanLine(line, last) {
		return result, nil
	}
	result = BatchResult{}
	err = json.Unmarshal(line, &result)
	return result, err
}

// batchLines writes requests as lines into a pipe, from a goroutine of its own.
type batchLines struct {
	pipe *io.PipeReader
	sent atomic.Uint64 // requests taken
	done chan struct{} // closed when the goroutine has ended
}

func newBatchLines(requests iter.Seq[SubscribeRequest]) *batchLines {
	reader, writer := io.Pipe()
	lines := &batchLines{pipe: reader, done: make(chan struct{})}
	go func() {
		defer close(lines.done)
		writer.CloseWithError(lines.write(writer, requests))
	}()
	return lines
}

func (l *batchLines) write(pipe io.Writer, requests iter.Seq[SubscribeRequest]) error {
	block := bufio.NewWriterSize(pipe, batchBlock)
	for request := range requests {
		l.sent.Add(1)
		if _, err := block.Write(request.AppendLine(block.AvailableBuffer())); err != nil {
			return err
		}
	}
	return block.Flush()
}

// stop ends the goroutine and waits for it.
func (l *batchLines) stop() {
	l.pipe.CloseWithError(errStopped)
	<-l.done
}

// check reports an answer that ended before all requests were answered.
func (l *batchLines) check(answered uint64) error {
	l.stop()
	if sent := l.sent.Load(); sent != answered {
		return fmt.Errorf("%d of %d requests were answered: %w", answered, sent, io.ErrUnexpectedEOF)
	}
	return nil
}
