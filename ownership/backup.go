package ownership

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/peer"
	"github.com/seed-91e7e7c1/corona/ownership/backup"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// backups copies the states of all ranges into a file, and makes a fresh cluster of one.
type backups struct {
	*writes
	restorable Call[[]byte, state.RestoreState]
	copies     copies
}

func newBackups(writes *writes) *backups {
	b := &backups{writes: writes}
	b.restorable = newCall(b.router, "restorable", func(_ context.Context, r channel.Range, backup []byte) (state.RestoreState, error) {
		return b.state.Restoring(r, backup)
	})
	return b
}

// Backup writes what the cluster has acknowledged, range by range: each as it is on its
// leader at one instant after the call. Commands go on meanwhile. Program is the version
// that the file says it was written by. After an error the file says so itself, as far as
// it can be written.
func (b *backups) Backup(ctx context.Context, to io.Writer, program string) error {
	cluster, err := hex.DecodeString(b.cluster)
	if err != nil {
		return fmt.Errorf("back up: cluster %q: %w", b.cluster, err)
	}
	routes, version := b.inOrder(), b.version.Load()
	w, err := backup.NewWriter(to, &wire.BackupHeader{
		Cluster: cluster, BegunUs: wire.Micros(b.now()), Program: program, Ranges: uint32(len(routes)), StateMachine: version,
	})
	if err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	for _, r := range routes {
		if err := b.backupRange(ctx, w, r); err != nil {
			err = fmt.Errorf("range %d: %w", r.ID, err)
			return errors.Join(err, w.Fail(err))
		}
	}
	if now := b.version.Load(); now != version {
		err := fmt.Errorf("the state machine went from version %d to %d meanwhile: back up again", version, now)
		return errors.Join(err, w.Fail(err))
	}
	return w.Close()
}

func (b *backups) backupRange(ctx context.Context, w *backup.Writer, r *route) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var stream io.ReadCloser
	err := untilLed(ctx, func() (err error) {
		stream, err = b.copyOf(ctx, r)
		return err
	})
	if err != nil {
		return err
	}
	defer stream.Close()
	return w.Range(r.Range, stream, b.now())
}

const (
	// ledWithin is how long one step of a backup or a restore is tried again while its range has
	// no leader.
	ledWithin = 30 * time.Second
	ledPause  = 200 * time.Millisecond
)

// untilLed tries a step of a backup or a restore, which may be done more than once, while its range
// has no leader. One that was split has what was asked for no more.
func untilLed(ctx context.Context, step func() error) error {
	for until := time.Now().Add(ledWithin); ; {
		err := step()
		if !errors.Is(err, ErrUnavailable) || errors.Is(err, errDivided) || time.Now().After(until) || ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(ledPause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// copyOf begins to read the state of a range at its leader. The stream is that of package
// transfer; it must be closed.
func (b *backups) copyOf(ctx context.Context, r *route) (stream io.ReadCloser, err error) {
	soon, cancel := within(ctx, answerWithin)
	defer cancel()
	err = b.lead(soon, r.From,
		func(g *group) error {
			if _, err := b.leads(soon, g, r.Range); err != nil {
				return err
			}
			stream, err = b.copyHere(ctx, g)
			return err
		},
		func(r *route, node string) error {
			stream, err = b.copyThere(ctx, soon, r, node)
			return err
		},
	)
	return stream, err
}

// copies are the states being read for backups, which keep the store open.
type copies struct {
	mu      sync.Mutex
	ended   bool
	running sync.WaitGroup
}

// begin returns what to call at the end, nil when no copy may begin any more.
func (c *copies) begin() (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return nil
	}
	c.running.Add(1)
	return c.running.Done
}

// end lets no more begin and waits for those under way.
func (c *copies) end() {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	c.running.Wait()
}

// copyHere reads the state of a replica of this node, whose leadership was confirmed.
func (b *backups) copyHere(ctx context.Context, g *group) (io.ReadCloser, error) {
	end := b.copies.begin()
	if end == nil {
		return nil, ErrClosed
	}
	least := g.state.Index()
	from, to := io.Pipe()
	stops := []func() bool{
		context.AfterFunc(ctx, func() { to.CloseWithError(context.Cause(ctx)) }),
		context.AfterFunc(b.running, func() { to.CloseWithError(ErrClosed) }),
	}
	go func() {
		defer end()
		to.CloseWithError(g.fsm.transfer.send(to, least, state.InBackup))
		for _, stop := range stops {
			stop()
		}
	}()
	return from, nil
}

// The first byte of an answer to a node that asks for a copy.
const (
	copyElsewhere = 0
	copyFollows   = 1
	copyRestoring = 2 // a backup is being restored
)

// copyIdle bounds how long one end of a copy waits for the other.
const copyIdle = 30 * time.Second

// copyThere has another node that may lead the range read its state. Soon bounds how long
// the begin may take.
func (b *backups) copyThere(ctx, soon context.Context, r *route, node string) (io.ReadCloser, error) {
	conn, err := b.net.peers.Stream(soon, node, kindBackup, uint64(r.ID), nil)
	if errors.Is(err, peer.ErrNotSent) {
		r.learn("")
		return nil, errElsewhere
	}
	if err != nil {
		return nil, fmt.Errorf("%w: range %d at %s: %w", ErrUnavailable, r.ID, raftnet.NodeName(node), err)
	}
	stream := &farCopy{Impatient: peer.Impatient{Conn: conn, Ctx: ctx, Within: copyIdle}, node: raftnet.NodeName(node)}
	stream.stop = stream.EndWith()
	begins := peer.Impatient{Conn: conn, Ctx: soon, Within: copyIdle}
	stop := begins.EndWith()
	var first [1]byte
	_, err = io.ReadFull(begins, first[:])
	if !stop() && err == nil {
		err = context.Cause(soon) // its deadline may come over the stream's at any moment
	}
	switch {
	case err == nil && first[0] == copyFollows:
		return stream, nil
	case err == nil && first[0] == copyRestoring:
		stream.Close()
		return nil, fmt.Errorf("%s: %w", stream.node, ErrRestoring)
	default:
		stream.Close()
		r.learn("")
		return nil, errElsewhere // nothing was done
	}
}

// farCopy is a copy that comes from another node.
type farCopy struct {
	peer.Impatient
	node string
	stop func() bool
}

func (c *farCopy) Close() error {
	c.stop()
	return c.Impatient.Close()
}

// serveCopy reads a range for another node.
func (b *backups) serveCopy(ctx context.Context, call peer.Call, conn net.Conn) {
	stream := peer.Impatient{Conn: conn, Ctx: b.running, Within: copyIdle}
	defer stream.EndWith()()
	if err := b.sendCopy(ctx, call, stream); err != nil {
		b.tools.log.Warn("a range could not be read for a backup", "range", call.Group, "for", call.From.Name, "error", err)
	}
}

// ledElsewhere reports whether this node may not lead a range with all of its buckets.
func (b *backups) ledElsewhere(ctx context.Context, g *group, r channel.Range) bool {
	_, err := b.leads(ctx, g, r)
	return err != nil
}

func (b *backups) sendCopy(ctx context.Context, call peer.Call, to io.Writer) error {
	r, err := b.routeOf(call.Group)
	if err != nil {
		return err
	}
	end := b.copies.begin()
	if end == nil {
		return ErrClosed
	}
	defer end()
	g := r.serving()
	if g == nil || b.ledElsewhere(ctx, g, r.Range) {
		_, err := to.Write([]byte{copyElsewhere})
		return err
	}
	least := g.state.Index()
	restoring, err := b.state.IsRestoring(r.Range)
	if err != nil {
		return err
	}
	if restoring {
		_, err := to.Write([]byte{copyRestoring})
		return err
	}
	if _, err := to.Write([]byte{copyFollows}); err != nil {
		return err
	}
	return g.fsm.transfer.send(to, least, state.InBackup)
}
