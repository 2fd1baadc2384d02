package server

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
)

// batchAhead is how many chunks of a batch wait for the writer or are worked on.
// With the limits of a chunk it bounds a batch's memory, at some 12 MiB, however
// many lines pass through it.
const batchAhead = 3

// batch answers POST /v1/subscriptions:batch: a line for each line, in order,
// while lines are still coming in.
func (s *Server) batch(w http.ResponseWriter, r *http.Request) error {
	if err := checkBatch(r); err != nil {
		return err
	}
	leave, ok := s.batches.take(r)
	if !ok {
		return api.NewProblem(http.StatusServiceUnavailable, "too many batches are running")
	}
	defer leave()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.stopping, cancel)()
	run := &batchRun{
		server: s, request: r, ctx: ctx, out: s.patientWriter(w),
		pieces: make(chan *chunk), pending: make(chan *chunk, batchAhead-1), size: newChunkSize(),
	}
	if err := run.do(); err != nil {
		s.log.Debug("batch cut short", "error", err)
		panic(http.ErrAbortHandler) // only a cut connection says that answers are missing
	}
	return nil
}

func checkBatch(r *http.Request) error {
	if err := parseQuery(r, nil, nil).err; err != nil {
		return err
	}
	if r.Header.Get(headerKey) != "" {
		return api.BadField(headerKey, `a batch has a "key" on each line instead`)
	}
	return checkContent(r.Header)
}

// batchRun is one batch. A reader cuts the body into pieces, a gatherer makes
// chunks of them, a worker for each chunk asks the node, and the handler's
// goroutine writes answers in order.
type batchRun struct {
	server  *Server
	request *http.Request
	ctx     context.Context // ends with the client, a failed write, or the server
	out     *patientWriter
	pieces  chan *chunk // as they arrive; closed at the end of the body
	pending chan *chunk // in the order of the body; closed at its end
	size    *chunkSize
	readErr error // why the body ended early; set before pieces is closed
	workers sync.WaitGroup
}

// do returns nil when every line has its answer.
func (b *batchRun) do() error {
	_ = b.out.control.EnableFullDuplex() // HTTP/1.1: go on reading once the answer has begun
	defer context.AfterFunc(b.server.stopping, b.out.hurry)()
	b.out.w.Header().Set("Content-Type", "application/x-ndjson")
	b.out.w.Header().Set("Cache-Control", "no-store")
	err := b.out.send(nil)

	source := &patientReader{b.ctx, b.request.Body, b.out.control, b.server.cfg.ReadTimeout}
	defer context.AfterFunc(b.ctx, source.interrupt)()
	b.workers.Go(func() { b.read(source) })
	b.workers.Go(b.gather)
	for c := range b.pending {
		<-c.done
		if err == nil {
			err = b.out.send(c.answer)
		}
		// A failed write ends the request's context, and so soon the reader.
	}
	b.workers.Wait()
	if err != nil {
		return err
	}
	return b.readErr
}

// read cuts the body into pieces until it ends.
func (b *batchRun) read(body io.Reader) {
	defer close(b.pieces)
	chunks := newChunkReader(body)
	for {
		piece, err := b.next(chunks)
		if len(piece.lines) > 0 {
			b.pieces <- piece
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			b.readErr = err
			return
		}
	}
}

// gather starts a worker for each chunk as soon as there may be one more. What
// arrives before that joins the chunk: a busy node is asked for more at a time. A
// chunk that was read is worked on, whatever happens to its answer.
func (b *batchRun) gather() {
	defer close(b.pending)
	var c *chunk // what waits for a worker
	for pieces := b.pieces; pieces != nil || c != nil; {
		in, out := pieces, b.pending
		if c == nil {
			out = nil
		} else if c.full(b.size.get()) {
			in = nil
		}
		select {
		case piece, ok := <-in:
			switch {
			case !ok:
				pieces = nil
			case c == nil:
				c = piece
			default:
				c.join(piece)
			}
		case out <- c:
			b.work(c)
			c = nil
		}
	}
}

// work starts the worker of a chunk.
func (b *batchRun) work(c *chunk) {
	b.workers.Go(func() {
		begun := time.Now()
		b.server.answerChunk(context.WithoutCancel(b.ctx), c)
		b.size.learn(len(c.lines), time.Since(begun))
	})
}

// next waits for the client to send another line.
func (b *batchRun) next(chunks *chunkReader) (*chunk, error) {
	defer waitForClient(b.request)()
	return chunks.next()
}
