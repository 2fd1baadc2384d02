package raftnet

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/hashicorp/raft"

	"github.com/seed-91e7e7c1/corona/internal/peer"
)

// A state goes over a stream: the request opens it, the state's bytes follow, and the
// answer comes back behind its length of two bytes, a bit of which says that it is an
// error.
const (
	// idleWithin bounds how long one end waits for the other to read or write.
	idleWithin = 30 * time.Second
	// restoreWithin bounds how long the receiver puts a state in place.
	restoreWithin = 10 * time.Minute
	failedBit     = 1 << 15
	maxAnswer     = failedBit - 1
)

// InstallSnapshot implements [raft.Transport].
func (t *Transport) InstallSnapshot(to raft.ServerID, _ raft.ServerAddress, request *raft.InstallSnapshotRequest, answer *raft.InstallSnapshotResponse, data io.Reader) error {
	replica, err := ParseID(t.self.Range, to)
	if err != nil {
		return err
	}
	if t.hooks.Prepare != nil {
		size, done, err := t.hooks.Prepare(t.open, replica, data)
		if err != nil {
			return fmt.Errorf("state of range %d is not sent to %s: %w", t.self.Range, to, err)
		}
		defer done()
		request.Size = size
	}
	ctx, cancel := context.WithTimeout(t.open, promptWithin)
	opened, err := t.net.peers.Stream(ctx, replica.Node, kindInstall, replica.Group(), encodeInstall(request))
	cancel()
	if err != nil {
		return err
	}
	defer opened.Close()
	stream := peer.Impatient{Conn: opened, Ctx: t.open, Within: idleWithin}
	defer stream.EndWith()()
	if _, err := io.Copy(stream, data); err != nil {
		return fmt.Errorf("send state of range %d to %s: %w", t.self.Range, to, err)
	}
	stream.Within = restoreWithin
	got, err := readAnswer(stream)
	if err != nil {
		return fmt.Errorf("state of range %d to %s: %w", t.self.Range, to, err)
	}
	*answer = raft.InstallSnapshotResponse{RPCHeader: got.header, Term: got.term, Success: got.granted}
	return nil
}

// install receives a state for one of this node's replicas.
func (n *Net) install(ctx context.Context, call peer.Call, stream net.Conn) {
	answer, err := n.receive(ctx, call, stream)
	prefix := uint16(len(answer))
	if err != nil {
		text := err.Error()
		answer = []byte(text[:min(len(text), maxAnswer)])
		prefix = uint16(len(answer)) | failedBit
	}
	if stream.SetWriteDeadline(time.Now().Add(idleWithin)) == nil {
		_, _ = stream.Write(append(binary.BigEndian.AppendUint16(nil, prefix), answer...)) // else the sender sees the end of the stream
	}
}

func (n *Net) receive(ctx context.Context, call peer.Call, stream net.Conn) (answer []byte, err error) {
	t, err := n.replica(call.Group)
	if err != nil {
		return nil, err
	}
	request, err := decodeInstall(call.Payload)
	if err == nil {
		err = checkSender(t.self.Range, call.From.ID, request.RPCHeader)
	}
	if err == nil {
		err = checkInstall(request)
	}
	if err != nil {
		return nil, err
	}
	conflicts := t.hooks.Log.conflicts(request.LastLogIndex, request.LastLogTerm)
	from := peer.Impatient{Conn: stream, Ctx: t.open, Within: idleWithin}
	defer from.EndWith()()
	response, err := t.deliver(ctx, raft.RPC{Command: request, Reader: io.LimitReader(from, request.Size)})
	if err != nil {
		return nil, err
	}
	s, ok := response.(*raft.InstallSnapshotResponse)
	if !ok {
		return nil, fmt.Errorf("raft answers %T", response)
	}
	if conflicts && s.Success {
		if err := t.replace(ctx, request); err != nil {
			return nil, err
		}
	}
	return encodeBallot(ballot{s.RPCHeader, s.Term, s.Success}), nil
}

// replace has raft drop the entries that conflict with an installed state, by an append
// of a no-op with the index and term of the state's last entry, the only one that is
// known of the leader's log. The replica's log stores neither the no-op nor those
// entries.
func (t *Transport) replace(ctx context.Context, state *raft.InstallSnapshotRequest) error {
	over := t.hooks.Log.replace(state.LastLogIndex, state.LastLogTerm)
	last := &raft.Log{Index: state.LastLogIndex, Term: state.LastLogTerm, Type: raft.LogNoop}
	answer, err := t.deliver(ctx, raft.RPC{Command: &raft.AppendEntriesRequest{RPCHeader: state.RPCHeader, Term: state.Term, Entries: []*raft.Log{last}}})
	if err != nil {
		return err // raft may take it yet
	}
	over()
	if a, ok := answer.(*raft.AppendEntriesResponse); !ok || !a.Success {
		return fmt.Errorf("what conflicts with the state stays: raft answers %+v", answer)
	}
	return nil
}

func readAnswer(r io.Reader) (ballot, error) {
	var prefix [2]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return ballot{}, err
	}
	length := binary.BigEndian.Uint16(prefix[:])
	answer := make([]byte, length&^failedBit)
	if _, err := io.ReadFull(r, answer); err != nil {
		return ballot{}, err
	}
	if length&failedBit != 0 {
		return ballot{}, errors.New(string(answer))
	}
	return decodeBallot(answer)
}
