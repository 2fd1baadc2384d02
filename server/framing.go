package server

import (
	"bytes"
	"net/http"
	"strconv"
	"sync"

	"github.com/seed-91e7e7c1/corona/api"
)

// framing follows the heads of the requests that arrive over a connection, beside
// net/http, which hides what it resolves: of a Content-Length beside a
// Transfer-Encoding nothing is left in a request's header. Where a proxy in front
// of the node could see another end of a request than net/http, what follows could
// be taken for a request of its own (request smuggling; RFC 9112, section 11.2). So
// such a request is refused, and so is what may follow: a connection ends with its
// first request that has a Transfer-Encoding, whose end framing does not look for.
// It is safe for concurrent use.
type framing struct {
	mu struct {
		sync.Mutex
		heads []head // seen and not taken yet, in order
		next  head   // under way
		body  uint64 // bytes of the body that are still to come
		line  line
		begun bool // next has its request line
		over  bool // no request follows
	}
}

// head is what the head of a request says of the request's end.
type head struct {
	wrong  string // why its end is ambiguous; empty: it is not
	sized  bool   // it has a Content-Length
	length uint64 // that, in bytes
	last   bool   // no request may follow
}

// line is a line that has arrived in part: its begin, how long it is, and whether
// it ends in CR so far.
type line struct {
	begin  [maxFramingLine]byte
	length int
	cr     bool
}

// maxFramingLine is how much is kept of a line, in bytes: more than a good
// Content-Length takes.
const maxFramingLine = 64

// feed takes what was read next.
func (f *framing) feed(p []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(p) > 0 && !f.mu.over {
		if f.mu.body > 0 {
			n := min(uint64(len(p)), f.mu.body)
			f.mu.body -= n
			p = p[n:]
			continue
		}
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			f.mu.line.add(p)
			return
		}
		f.mu.line.add(p[:end])
		f.endLine()
		p = p[end+1:]
	}
}

func (l *line) add(p []byte) {
	if len(p) == 0 {
		return
	}
	if l.length < len(l.begin) {
		copy(l.begin[l.length:], p)
	}
	l.length += len(p)
	l.cr = p[len(p)-1] == '\r'
}

// endLine is called under the lock, as what follows.
func (f *framing) endLine() {
	l := &f.mu.line
	if l.cr {
		l.length--
	}
	switch {
	case !f.mu.begun && l.length == 0: // net/http passes over some of these
	case !l.cr:
		f.wrong("a line of the head ends in LF without CR")
		fallthrough
	default:
		f.takeLine(l.begin[:min(l.length, len(l.begin))], l.length > len(l.begin))
	}
	*l = line{}
}

func (f *framing) takeLine(begin []byte, cut bool) {
	switch {
	case !f.mu.begun:
		f.mu.begun = true
	case len(begin) == 0:
		f.endHead()
	case begin[0] == ' ' || begin[0] == '\t':
		f.wrong("a line of the head is folded")
	default:
		f.takeField(begin, cut)
	}
}

func (f *framing) takeField(begin []byte, cut bool) {
	name, value, _ := bytes.Cut(begin, []byte(":"))
	switch {
	case bytes.EqualFold(name, []byte("Transfer-Encoding")):
		f.mu.next.last = true
	case bytes.EqualFold(name, []byte("Content-Length")):
		f.takeLength(bytes.Trim(value, " \t"), cut)
	}
}

func (f *framing) takeLength(value []byte, cut bool) {
	n, err := strconv.ParseUint(string(value), 10, 63)
	switch {
	case f.mu.next.sized:
		f.wrong("more than one Content-Length")
	case err != nil || cut:
		f.wrong("the Content-Length is no number of bytes")
	}
	f.mu.next.sized, f.mu.next.length = true, n
}

func (f *framing) endHead() {
	if f.mu.next.sized && f.mu.next.last {
		f.wrong("Content-Length beside Transfer-Encoding")
	}
	f.mu.heads = append(f.mu.heads, f.mu.next)
	f.mu.body, f.mu.over = f.mu.next.length, f.mu.next.last
	f.mu.next, f.mu.begun = head{}, false
}

func (f *framing) wrong(why string) {
	if f.mu.next.wrong == "" {
		f.mu.next.wrong = why
	}
	f.mu.next.last = true
}

// take returns the next head. net/http hands on a request for each, in order: one
// without is ambiguous.
func (f *framing) take() head {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.mu.heads) == 0 {
		return head{wrong: "its head was not understood", last: true}
	}
	next := f.mu.heads[0]
	f.mu.heads = f.mu.heads[1:]
	return next
}

// checkFraming refuses a request whose end is ambiguous, and has the connection
// closed behind one that no other may follow. Where the Server is
// another server's handler, framing is that server's part.
func checkFraming(w http.ResponseWriter, r *http.Request) error {
	conn, ours := clientOf(r).conn.(*limitedConn)
	if !ours {
		return nil
	}
	head := conn.framing.take()
	if len(r.TransferEncoding) == 0 && head.last && head.wrong == "" {
		head.wrong = "Transfer-Encoding in HTTP/1.0"
	}
	if head.last {
		w.Header().Set("Connection", "close")
	}
	if head.wrong != "" {
		return api.NewProblem(http.StatusBadRequest, "where the request ends is ambiguous: "+head.wrong)
	}
	return nil
}
