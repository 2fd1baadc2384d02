package server

import (
	"context"
	"io"
	"net/http"
	"time"
)

// The bounds of what is read and dropped of the body of a refused request. A client
// that writes all of its body before it reads would not see its answer otherwise: a
// connection that is closed with bytes unread is reset, and the answer lost with it.
const (
	lingerBytes = 16 << 20
	lingerTime  = 5 * time.Second
)

// hasBody reports whether a body came, or may come, with a request.
func hasBody(r *http.Request) bool { return r.ContentLength != 0 && r.Body != nil }

// answerFirst has the answer to a request sent before the rest of its body is
// read, which [Server.linger] does.
func answerFirst(w http.ResponseWriter, r *http.Request) {
	if !hasBody(r) {
		return
	}
	_ = http.NewResponseController(w).EnableFullDuplex()
	if r.ContentLength > maxBody {
		w.Header().Set("Connection", "close") // a client that looks need not send all of it
	}
}

// linger reads and drops what is left of the body of a request that was refused.
// The connection waits for its client meanwhile, so it makes room for others.
func (s *Server) linger(w http.ResponseWriter, r *http.Request) {
	if !hasBody(r) {
		return
	}
	control := http.NewResponseController(w)
	if control.Flush() != nil || control.SetReadDeadline(after(lingerTime)) != nil {
		return
	}
	defer waitForClient(r)()
	defer context.AfterFunc(s.stopping, func() { _ = control.SetReadDeadline(time.Unix(1, 0)) })()
	_, _ = io.CopyN(io.Discard, r.Body, lingerBytes) // a client that is gone needs no answer
}
