package peer

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"
)

// dial connects to a peer in one lane. run serves the connection until it ends.
func (n *Node) dial(ctx context.Context, p Peer, lane Lane) (up connection, run func(), err error) {
	conn, err := n.config.Network.Dial(ctx, p.Address)
	if err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	secured, reader, theirs, err := n.greet(ctx, conn, p, lane)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = conn.Close()
		return nil, nil, err
	}
	if lane == bulk {
		s, err := openSession(secured, reader)
		if err != nil {
			_ = conn.Close()
			return nil, nil, err
		}
		return s, s.wait, nil
	}
	c := newCaller(secured, theirs, lane.limits())
	return c, func() { c.run(reader) }, nil
}

// greet authenticates both ends and exchanges hellos, on the dialler's side.
func (n *Node) greet(ctx context.Context, conn net.Conn, p Peer, lane Lane) (net.Conn, *bufio.Reader, Identity, error) {
	secured, proved, err := n.config.Credentials.client(ctx, conn, p.Name, lane)
	if err != nil {
		return nil, nil, Identity{}, err
	}
	self := n.Self()
	if err := sendHello(secured, hello{Protocol: protocol, Lane: lane, Program: n.config.Program, From: self, To: p.ID}); err != nil {
		return nil, nil, Identity{}, err
	}
	reader := bufio.NewReaderSize(secured, writeBuffer)
	theirs, err := receiveHello(reader)
	if err != nil {
		return nil, nil, Identity{}, err
	}
	if theirs.Refused != "" {
		return nil, nil, Identity{}, fmt.Errorf("node %s refuses: %s", p.Name, theirs.Refused)
	}
	return secured, reader, theirs.From, checkHello(self, theirs, lane, proved, p.ID)
}

func sendHello(conn net.Conn, h hello) error {
	payload, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return writeAll(conn, appendFrame(nil, frame{kind: kindHello, payload: payload}))
}

func receiveHello(r *bufio.Reader) (hello, error) {
	f, err := readFrame(r, maxHello)
	if err != nil {
		return hello{}, err
	}
	if f.kind != kindHello {
		return hello{}, fmt.Errorf("%w: a frame of kind %d", errHello, f.kind)
	}
	return readHello(f.payload)
}

// Serve accepts connections of other nodes until ctx ends or the listener fails. It
// closes the listener, and returns when the connections it took have ended.
func (n *Node) Serve(ctx context.Context, listener net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(n.running, cancel)()
	defer func() { _ = listener.Close() }() // what ends Accept may still be about to
	defer context.AfterFunc(ctx, func() { _ = listener.Close() })()
	taken := make(chan struct{}, maxAccepted)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	for {
		select {
		case taken <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		conn, err := listener.Accept()
		if ctx.Err() != nil {
			if err == nil {
				_ = conn.Close()
			}
			return nil
		}
		if errors.Is(err, net.ErrClosed) {
			return fmt.Errorf("accept connections of nodes: %w", err)
		}
		if err != nil { // such as no descriptors left, which passes
			n.config.Logger.Warn("connection of a node was not accepted", "error", err)
			rest(ctx, retryAccept)
			<-taken
			continue
		}
		all.Go(func() {
			n.accept(ctx, conn)
			<-taken
		})
	}
}

const retryAccept = 100 * time.Millisecond

// rest returns after d, or when ctx ends.
func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// maxAccepted bounds the connections from others: three lanes of a large cluster, and
// as many that have not said yet who they are.
const maxAccepted = 1024

// accept serves one connection.
func (n *Node) accept(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	greeting, cancel := context.WithTimeout(ctx, dialWithin)
	stop := context.AfterFunc(greeting, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	secured, reader, theirs, err := n.answerHello(greeting, conn)
	stopped := stop()
	cancel()
	if err != nil {
		n.refused(conn, theirs, err)
		return
	}
	if !stopped {
		return
	}
	n.metrics.accepted.Inc()
	if theirs.Lane == bulk {
		n.serveStreams(ctx, secured, reader, theirs.From)
		return
	}
	l := theirs.Lane.limits()
	s := &server{conn: secured, remote: theirs.From, limits: l, handler: n.handler, out: newOutbox(l.queued)}
	err = s.run(ctx, reader)
	if errors.Is(err, errFrame) {
		n.metrics.broken.Inc()
		n.config.Logger.Warn("node sent a broken frame, its connection is closed", "peer", theirs.From.String(), "address", conn.RemoteAddr().String(), "error", err)
	}
}

// answerHello authenticates both ends and exchanges hellos, on the acceptor's side.
// With an error, the identity that it returns is the other end's unproved claim.
func (n *Node) answerHello(ctx context.Context, conn net.Conn) (net.Conn, *bufio.Reader, hello, error) {
	secured, proved, lane, err := n.config.Credentials.server(ctx, conn)
	if err != nil {
		return nil, nil, hello{From: Identity{Name: proved}}, err
	}
	reader := bufio.NewReaderSize(secured, writeBuffer)
	theirs, err := receiveHello(reader)
	if err != nil {
		return nil, nil, hello{From: Identity{Name: proved}}, refuse(ReasonProtocol, "%v", err)
	}
	if lane == "" { // without certificates the hello alone says which
		lane = theirs.Lane
	}
	self := n.Self()
	err = checkHello(self, theirs, lane, proved, "")
	switch {
	case err != nil:
	case !slices.Contains(lanes, lane):
		err = refuse(ReasonProtocol, "unknown lane %q", lane)
	case theirs.To != "" && theirs.To != self.ID:
		err = refuse(ReasonNode, "this is node %s, not %s", self, theirs.To)
	default:
		if refused := n.config.Admit(theirs.From); refused != nil && (lane != Log || len(n.open) == 0) {
			err = refuse(ReasonMember, "node %s: %v", theirs.From, refused)
		}
	}
	ours := hello{Protocol: protocol, Lane: lane, Program: n.config.Program, From: self}
	if err != nil {
		ours.Refused = err.Error()
		_ = sendHello(secured, ours) // the refusal stands, told or not
		return nil, nil, theirs, err
	}
	return secured, reader, theirs, sendHello(secured, ours)
}

// refused counts a connection that did not come about.
func (n *Node) refused(conn net.Conn, theirs hello, err error) {
	reason := ReasonProtocol
	var refused *RefusedError
	var header tls.RecordHeaderError
	var verify *tls.CertificateVerificationError
	switch {
	case errors.As(err, &refused):
		reason = refused.Reason
	case errors.As(err, &verify):
		reason = ReasonCertificate
	case errors.As(err, &header):
	}
	n.metrics.refused.WithLabelValues(string(reason)).Inc()
	if n.metrics.mayLog() {
		n.config.Logger.Warn("connection of a node refused", "address", conn.RemoteAddr().String(), "said", theirs.From.String(), "reason", reason, "error", err)
	}
}
