package server

import (
	"context"
	"io"
	"net/http"
	"sync"

	"github.com/seed-91e7e7c1/corona/api"
)

// batchAhead is how many chunks of a batch wait for the writer or are worked on.
// With the limits of a chunk it bounds a batch's memory, at some 4 MiB, however
// many lines pass through it.
const batchAhead = 3

// batch answers POST /v1/subscriptions:batch: a line for each line, in order,
// while lines are still coming in.
func (s *Server) batch(w http.ResponseWriter, r *http.Request) error {
	if err := checkBatch(r); err != nil {
		return err
	}
	if !take(s.batches) {
		return api.NewProblem(http.StatusServiceUnavailable, "too many batches are running")
	}
	defer func() { <-s.batches }()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.stopping, cancel)()
	run := &batchRun{server: s, ctx: ctx, out: s.patientWriter(w), pending: make(chan *chunk, batchAhead-1)}
	if err := run.do(r.Body); err != nil {
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

// batchRun is one batch. A reader cuts the body into chunks, a worker for each
// chunk asks the node, and the handler's goroutine writes answers in order.
type batchRun struct {
	server  *Server
	ctx     context.Context // ends with the client, a failed write, or the server
	out     *patientWriter
	pending chan *chunk // in the order of the body; closed at its end
	readErr error       // why the body ended early; set before pending is closed
	workers sync.WaitGroup
}

// do returns nil when every line has its answer.
func (b *batchRun) do(body io.Reader) error {
	_ = b.out.control.EnableFullDuplex() // HTTP/1.1: go on reading once the answer has begun
	defer context.AfterFunc(b.server.stopping, b.out.hurry)()
	b.out.w.Header().Set("Content-Type", "application/x-ndjson")
	b.out.w.Header().Set("Cache-Control", "no-store")
	err := b.out.send(nil)

	source := &patientReader{b.ctx, body, b.out.control, b.server.cfg.ReadTimeout}
	defer context.AfterFunc(b.ctx, source.interrupt)()
	b.workers.Go(func() { b.read(source) })
	for c := range b.pending {
		<-c.done
		if err == nil {
			err = b.out.send(c.answer.Bytes())
		}
		// A failed write ends the request's context, and so soon the reader.
	}
	b.workers.Wait()
	if err != nil {
		return err
	}
	return b.readErr
}

// read cuts the body into chunks until it ends and starts a worker for each. A
// chunk that was read is worked on, whatever happens to its answer.
func (b *batchRun) read(body io.Reader) {
	defer close(b.pending)
	chunks := newChunkReader(body)
	for {
		c, err := chunks.next()
		if len(c.lines) > 0 {
			b.pending <- c
			b.workers.Go(func() { b.server.answerChunk(context.WithoutCancel(b.ctx), c) })
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
