package loadgen

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/seed-91e7e7c1/corona/internal/originaudit"
)

// Sick are shares of hosts that answer as no host should; of each share above 0 there is one
// host at least, as far as there are hosts.
type Sick struct {
	Slow     float64       // after 6 s, or at a byte a second
	Hanging  float64       // accept connections and never answer
	Refusing float64       // refuse two times in three: 429, 503 or 403, with Retry-After in all of its forms
	Harmful  float64       // heads and bodies that end nowhere, or explode
	Rest     time.Duration // what refusals with a time ask for; 0: 20 s
}

// sickness is how a host answers.
type sickness uint8

const (
	healthy sickness = iota
	late
	dripping
	hanging
	refusing
	harmful
)

// ward knows which hosts are sick, and plays them.
type ward struct {
	hosts   []sickness
	rest    time.Duration
	harmful []originaudit.Script

	mu struct {
		sync.Mutex
		ctx     context.Context // of answers that do not end; nil: none is given any more
		playing sync.WaitGroup
	}
}

const defaultRest = 20 * time.Second

// newWard chooses the sick hosts by a schedule's seed; nil: none is sick.
func newWard(s Sick, hosts int, by Schedule) *ward {
	if s.Slow+s.Hanging+s.Refusing+s.Harmful == 0 {
		return nil
	}
	w := &ward{hosts: make([]sickness, hosts), rest: cmp.Or(s.Rest, defaultRest), harmful: harmfulScripts()}
	order := make([]int, hosts)
	for h := range order {
		order[h] = h
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(by.hash(a, saltSick, 0), by.hash(b, saltSick, 0)) })
	take := func(share float64, kind func(host int) sickness) {
		n := int(share*float64(hosts) + 0.5)
		if share > 0 {
			n = max(n, 1)
		}
		n = min(n, len(order))
		for _, host := range order[:n] {
			w.hosts[host] = kind(host)
		}
		order = order[n:]
	}
	always := func(kind sickness) func(int) sickness { return func(int) sickness { return kind } }
	take(s.Slow, func(host int) sickness { return []sickness{late, dripping, dripping}[host%3] })
	take(s.Hanging, always(hanging))
	take(s.Refusing, always(refusing))
	take(s.Harmful, always(harmful))
	return w
}

// harmfulScripts are the rows that a reader must survive and that harm it most: bombs, endless
// heads and bodies, lengths that nothing holds.
func harmfulScripts() (scripts []originaudit.Script) {
	for _, row := range originaudit.Rows() {
		if slices.Contains([]int{1, 3, 4, 9, 12}, row.Number) {
			scripts = append(scripts, row.Play)
		}
	}
	return scripts
}

// of returns how a host answers.
func (w *ward) of(host int) sickness {
	if w == nil {
		return healthy
	}
	return w.hosts[host]
}

// lateBy is how long late hosts take.
const lateBy = 6 * time.Second

// refuse refuses a request as a host with a number does, in one of the forms of Retry-After.
func (w *ward) refuse(header *fasthttp.ResponseHeader, host int, now time.Time) {
	seconds, until := fmt.Sprint(int(w.rest.Seconds())), now.Add(w.rest).UTC()
	forms := []struct {
		status int
		after  string
	}{
		{429, seconds}, {503, seconds}, {403, seconds},
		{429, until.Format(originaudit.DateIMF)}, {429, until.Format(originaudit.DateRFC850)}, {503, until.Format(originaudit.DateAsctime)},
		{429, ""}, {429, "0"}, {429, "-1"}, {429, "1000000000000"},
	}
	form := forms[host%len(forms)]
	header.SetStatusCode(form.status)
	if form.after != "" {
		header.SetCanonical(headerRetryAfter, []byte(form.after))
	}
}

// answer returns what a host that neither is healthy nor refuses sends instead of a whole
// answer, and how.
func (w *ward) answer(host int, whole []byte) (sent []byte, send originaudit.Sender) {
	switch w.hosts[host] {
	case hanging:
		return nil, originaudit.Hang
	case harmful:
		a := w.harmful[host%len(w.harmful)](originaudit.Visit{})
		if send = a.Send; send == nil {
			send = originaudit.Late(0)
		}
		return append(bytes.Clone(a.Raw), a.Body...), send
	}
	const head = 400 // bytes
	return whole, originaudit.Drip(head*(host%2), time.Second)
}

// open lets answers be given that do not end before the context does.
func (w *ward) open(ctx context.Context) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.ctx = ctx
}

// close waits until no answer is under way; their context has ended.
func (w *ward) close() {
	if w == nil {
		return
	}
	w.mu.Lock()
	w.mu.ctx = nil
	w.mu.Unlock()
	w.mu.playing.Wait()
}

// errClosed is an answer that the origin does not give any more.
var errClosed = errors.New("the origin is closed")

// play sends bytes on a connection in a manner, until all is sent, the reader has gone or the
// origin closes. The connection ends after it.
func (w *ward) play(conn net.Conn, sent []byte, send originaudit.Sender) error {
	if hijacked, ok := conn.(interface{ UnsafeConn() net.Conn }); ok {
		conn = hijacked.UnsafeConn() // the server's own is not closed before this returns
	}
	w.mu.Lock()
	if w.mu.ctx == nil {
		w.mu.Unlock()
		return errClosed
	}
	ctx, leave := context.WithCancel(w.mu.ctx)
	w.mu.playing.Add(1)
	w.mu.Unlock()
	defer w.mu.playing.Done()
	defer leave()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // which ends what is being written, too
	defer stop()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = conn.Read(make([]byte, 1)) // whatever comes, the reader no longer waits
		leave()
	}()
	err := send(ctx, conn, sent)
	_ = conn.Close() // so that the other goroutine ends
	<-gone
	return err
}
