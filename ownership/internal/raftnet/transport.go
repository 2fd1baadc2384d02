package raftnet

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/seed-91e7e7c1/corona/internal/peer"
	"github.com/seed-91e7e7c1/corona/internal/planted"
)

// Transport carries the messages of one replica.
type Transport struct {
	net   *Net
	self  Replica
	hooks Hooks

	inbox chan raft.RPC
	open  context.Context // until Close
	close context.CancelCauseFunc

	beats struct {
		sync.Mutex // one heartbeat at a time: it may write a term
		handle     func(raft.RPC)
	}
	followers struct {
		sync.Mutex
		of map[raft.ServerID]Progress
	}
	told struct {
		sync.Mutex
		committed uint64
		at        time.Time
	}
}

// Progress is what a follower has said to the entries that it was sent.
type Progress struct {
	Last  uint64 // index of the last entry that it has
	Taken uint64 // how many messages of entries, with none too, it has taken
}

// Progress returns what a follower has said; zero: nothing.
func (n *Net) Progress(of Replica, follower raft.ServerID) Progress {
	t, err := n.replica(of.Group())
	if err != nil {
		return Progress{}
	}
	t.followers.Lock()
	defer t.followers.Unlock()
	return t.followers.of[follower]
}

// Committed returns up to which index leaders have committed, by what they have told the replica,
// and when the last one did: a zero time says that none has since the replica has a transport.
func (n *Net) Committed(of Replica) (index uint64, told time.Time) {
	t, err := n.replica(of.Group())
	if err != nil {
		return 0, time.Time{}
	}
	t.told.Lock()
	defer t.told.Unlock()
	return t.told.committed, t.told.at
}

// toldCommitted notes what a leader has told.
func (t *Transport) toldCommitted(index uint64) {
	t.told.Lock()
	defer t.told.Unlock()
	t.told.committed, t.told.at = max(t.told.committed, index), time.Now()
}

// took notes that a follower has taken all of a request.
func (t *Transport) took(follower raft.ServerID, request *raft.AppendEntriesRequest) {
	t.followers.Lock()
	defer t.followers.Unlock()
	t.followers.of[follower] = Progress{request.PrevLogEntry + uint64(len(request.Entries)), t.followers.of[follower].Taken + 1}
}

var (
	_ raft.Transport   = (*Transport)(nil)
	_ raft.WithPreVote = (*Transport)(nil)
	_ raft.WithClose   = (*Transport)(nil)
)

var (
	errClosed     = errors.New("transport closed")
	errBusy       = errors.New("a heartbeat before is not done")
	errWantsState = errors.New("this replica takes a state, not entries from the first one on")
	errBarred     = errors.New("this replica must not lead: a write of its log hangs, or it is damaged")
)

// Close lets no more messages in or out. Those under way get errors, but for a heartbeat
// that raft has: its end is waited for, since it may write a term to stores that are
// closed next. It may be called before raft is stopped, which waits for a state under way
// for as long as that takes.
func (t *Transport) Close() error {
	t.close(errClosed)
	t.net.remove(t)
	t.SetHeartbeatHandler(nil)
	return nil
}

// Consumer implements [raft.Transport].
func (t *Transport) Consumer() <-chan raft.RPC { return t.inbox }

// LocalAddr implements [raft.Transport]: the node ID.
func (t *Transport) LocalAddr() raft.ServerAddress { return t.self.Address() }

// EncodePeer implements [raft.Transport].
func (t *Transport) EncodePeer(_ raft.ServerID, address raft.ServerAddress) []byte {
	return []byte(address)
}

// DecodePeer implements [raft.Transport].
func (t *Transport) DecodePeer(address []byte) raft.ServerAddress { return raft.ServerAddress(address) }

// SetHeartbeatHandler implements [raft.Transport].
func (t *Transport) SetHeartbeatHandler(handle func(raft.RPC)) {
	t.beats.Lock()
	defer t.beats.Unlock()
	t.beats.handle = handle
}

// AppendEntriesPipeline implements [raft.Transport]. With pipelining, write errors on
// a follower can leave it stuck while heartbeats go on (grafana/pyroscope#5518).
func (t *Transport) AppendEntriesPipeline(raft.ServerID, raft.ServerAddress) (raft.AppendPipeline, error) {
	return nil, raft.ErrPipelineReplicationNotSupported
}

// call sends a message to a replica and returns the answer.
func (t *Transport) call(to raft.ServerID, lane peer.Lane, kind peer.Kind, within time.Duration, message []byte) ([]byte, error) {
	replica, err := ParseID(t.self.Range, to)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(t.open, within)
	defer cancel()
	return t.net.peers.Call(ctx, replica.Node, lane, kind, replica.Group(), message)
}

// isHeartbeat tells the messages of raft's heartbeat loop from those that carry
// entries or a commit index.
func isHeartbeat(a *raft.AppendEntriesRequest) bool {
	return a.PrevLogEntry == 0 && a.PrevLogTerm == 0 && len(a.Entries) == 0 && a.LeaderCommitIndex == 0
}

// maxAppend bounds the bytes of entries in one message, unless one entry alone is
// larger.
const maxAppend = 4 << 20

// AppendEntries implements [raft.Transport]. Of many entries it sends the first, and
// takes the others off the request: raft goes on behind the last one there.
func (t *Transport) AppendEntries(to raft.ServerID, _ raft.ServerAddress, request *raft.AppendEntriesRequest, answer *raft.AppendEntriesResponse) error {
	if t.hooks.Barred() {
		return errBarred
	}
	if isHeartbeat(request) {
		return t.sendHeartbeat(to, request, answer)
	}
	size := 0
	for i, e := range request.Entries {
		if size += len(e.Data) + len(e.Extensions); size > maxAppend && i > 0 {
			request.Entries = request.Entries[:i]
			break
		}
	}
	got, err := t.call(to, peer.Log, kindAppend, appendWithin, encodeAppend(request))
	if err == nil {
		*answer, err = decodeAppended(got)
	}
	if err == nil && answer.Success {
		t.took(to, request)
	}
	return err
}

func (t *Transport) sendHeartbeat(to raft.ServerID, request *raft.AppendEntriesRequest, answer *raft.AppendEntriesResponse) error {
	replica, err := ParseID(t.self.Range, to)
	if err != nil {
		return err
	}
	if planted.Bug(3) && t.self.Range != math.MaxUint32 { // not of the meta group
		go t.net.sendBeat(t.open, replica.Node, replica.Group(), encodeAppend(request))
		*answer = raft.AppendEntriesResponse{Term: request.Term, Success: true}
		return nil
	}
	got, err := t.net.sendBeat(t.open, replica.Node, replica.Group(), encodeAppend(request))
	if err == nil {
		*answer, err = decodeAppended(got)
	}
	return err
}

// RequestVote implements [raft.Transport].
func (t *Transport) RequestVote(to raft.ServerID, _ raft.ServerAddress, request *raft.RequestVoteRequest, answer *raft.RequestVoteResponse) error {
	got, err := t.ask(to, kindVote, encodeVote(request))
	*answer = raft.RequestVoteResponse{RPCHeader: got.header, Term: got.term, Granted: got.granted}
	return err
}

// errNotVoted stands for every failure of a pre-vote: raft takes one whose text holds
// "unexpected command", which a peer may send, for a vote.
var errNotVoted = errors.New("no answer to a pre-vote")

// RequestPreVote implements [raft.WithPreVote].
func (t *Transport) RequestPreVote(to raft.ServerID, _ raft.ServerAddress, request *raft.RequestPreVoteRequest, answer *raft.RequestPreVoteResponse) error {
	got, err := t.ask(to, kindPreVote, encodePreVote(request))
	if err != nil {
		return errNotVoted
	}
	*answer = raft.RequestPreVoteResponse{RPCHeader: got.header, Term: got.term, Granted: got.granted}
	return nil
}

// ask asks for a vote.
func (t *Transport) ask(to raft.ServerID, kind peer.Kind, message []byte) (ballot, error) {
	if t.hooks.Barred() {
		return ballot{}, errBarred
	}
	got, err := t.call(to, peer.Control, kind, promptWithin, message)
	if err != nil {
		return ballot{}, err
	}
	return decodeBallot(got)
}

// TimeoutNow implements [raft.Transport]: the handover of leadership.
func (t *Transport) TimeoutNow(to raft.ServerID, _ raft.ServerAddress, request *raft.TimeoutNowRequest, _ *raft.TimeoutNowResponse) error {
	_, term := t.hooks.Leader()
	_, err := t.call(to, peer.Control, kindHandover, promptWithin, encodeHandover(handover{request.RPCHeader, term}))
	return err
}

// deliver hands a message to raft and returns its answer.
func (t *Transport) deliver(ctx context.Context, rpc raft.RPC) (any, error) {
	answer := make(chan raft.RPCResponse, 1) // raft may answer one that is waited for no more
	rpc.RespChan = answer
	select {
	case t.inbox <- rpc:
	case <-t.open.Done():
		return nil, errClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return t.answered(ctx, answer)
}

func (t *Transport) answered(ctx context.Context, answer <-chan raft.RPCResponse) (any, error) {
	select {
	case a := <-answer:
		return a.Response, a.Error
	case <-t.open.Done(): // raft does not answer all that it has when it stops
		return nil, errClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// heartbeat serves a message of a leader's heartbeat loop, past raft's main loop if it comes from
// the leader that raft knows.
func (t *Transport) heartbeat(ctx context.Context, call peer.Call) ([]byte, error) {
	request, err := t.readAppend(call)
	if err != nil {
		return nil, err
	}
	if !isHeartbeat(request) {
		return nil, fmt.Errorf("%w: entries among heartbeats", errMessage)
	}
	answer := make(chan raft.RPCResponse, 1)
	switch beat, err := t.beat(request, answer); {
	case err != nil:
		return nil, err
	case beat:
		return appended(t.answered(ctx, answer))
	}
	ctx, cancel := context.WithTimeout(ctx, newsWithin)
	defer cancel()
	return appended(t.deliver(ctx, raft.RPC{Command: request}))
}

// newsWithin bounds how long a heartbeat waits for raft's main loop: the answers to the others in its
// message, to other ranges, wait for its own, and have [promptWithin].
const newsWithin = 100 * time.Millisecond

// beat hands raft a heartbeat past its main loop, which a write of the log may hold up, unless raft
// still has one before: those that come meanwhile would pile up. It hands none that would change
// raft's term, or have it follow: a leader that its main loop did not see deposed would write its
// next entry in the term of another leader (hashicorp/raft#695).
func (t *Transport) beat(request *raft.AppendEntriesRequest, answer chan<- raft.RPCResponse) (beat bool, err error) {
	if !t.beats.TryLock() {
		return false, errBusy
	}
	defer t.beats.Unlock()
	if t.beats.handle == nil {
		return false, errClosed
	}
	if leader, term := t.hooks.Leader(); request.Term > term || request.Term == term && leader != raft.ServerID(request.ID) {
		return false, nil
	}
	t.beats.handle(raft.RPC{Command: request, RespChan: answer})
	return true, nil
}

// append serves a message with entries, or a commit index.
func (t *Transport) append(ctx context.Context, call peer.Call) ([]byte, error) {
	request, err := t.readAppend(call)
	if err != nil {
		return nil, err
	}
	return appended(t.deliver(ctx, raft.RPC{Command: request}))
}

func (t *Transport) readAppend(call peer.Call) (*raft.AppendEntriesRequest, error) {
	request, err := decodeAppend(call.Payload)
	if err != nil {
		return nil, err
	}
	if err := checkSender(t.self.Range, call.From.ID, request.RPCHeader); err != nil {
		return nil, err
	}
	if !isHeartbeat(request) {
		t.toldCommitted(request.LeaderCommitIndex)
	}
	if len(request.Entries) > 0 && request.PrevLogEntry == 0 && t.hooks.WantsState != nil && t.hooks.WantsState() {
		return nil, errWantsState
	}
	// A message may end below the leader's commit index, and this log may have entries of a leader of
	// before behind that end: raft would take those for committed.
	request.LeaderCommitIndex = min(request.LeaderCommitIndex, request.PrevLogEntry+uint64(len(request.Entries)))
	return request, checkAppend(request, t.hooks.CheckCommand)
}

func appended(answer any, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	a, ok := answer.(*raft.AppendEntriesResponse)
	if !ok {
		return nil, fmt.Errorf("raft answers %T", answer)
	}
	return encodeAppended(a), nil
}

func (t *Transport) vote(ctx context.Context, call peer.Call) ([]byte, error) {
	request, err := decodeVote(call.Payload)
	if err == nil {
		err = checkSender(t.self.Range, call.From.ID, request.RPCHeader)
	}
	if err != nil {
		return nil, err
	}
	answer, err := t.deliver(ctx, raft.RPC{Command: request})
	if err != nil {
		return nil, err
	}
	v, ok := answer.(*raft.RequestVoteResponse)
	if !ok {
		return nil, fmt.Errorf("raft answers %T", answer)
	}
	return encodeBallot(ballot{v.RPCHeader, v.Term, v.Granted}), nil
}

func (t *Transport) preVote(ctx context.Context, call peer.Call) ([]byte, error) {
	request, err := decodePreVote(call.Payload)
	if err == nil {
		err = checkSender(t.self.Range, call.From.ID, request.RPCHeader)
	}
	if err != nil {
		return nil, err
	}
	answer, err := t.deliver(ctx, raft.RPC{Command: request})
	if err != nil {
		return nil, err
	}
	v, ok := answer.(*raft.RequestPreVoteResponse)
	if !ok {
		return nil, fmt.Errorf("raft answers %T", answer)
	}
	return encodeBallot(ballot{v.RPCHeader, v.Term, v.Granted}), nil
}

// Stand has a replica of this node stand for election at once.
func (n *Net) Stand(ctx context.Context, of Replica) error {
	t, err := n.replica(of.Group())
	if err != nil {
		return err
	}
	if t.hooks.Barred() {
		return errBarred
	}
	header := raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(of.ID()), Addr: []byte(of.Address())}
	_, err = t.deliver(ctx, raft.RPC{Command: &raft.TimeoutNowRequest{RPCHeader: header}})
	return err
}

// handover serves a leader's request that this replica take over. Raft obeys it from any
// sender at any time, so here it must come from the leader of this replica's term.
func (t *Transport) handover(ctx context.Context, call peer.Call) ([]byte, error) {
	h, err := decodeHandover(call.Payload)
	if err == nil {
		err = checkSender(t.self.Range, call.From.ID, h.header)
	}
	if err != nil {
		return nil, err
	}
	if t.hooks.Barred() {
		return nil, errBarred
	}
	if leader, term := t.hooks.Leader(); leader != raft.ServerID(h.header.ID) || term != h.term {
		return nil, fmt.Errorf("handover by %s in term %d: %q leads term %d", h.header.ID, h.term, leader, term)
	}
	_, err = t.deliver(ctx, raft.RPC{Command: &raft.TimeoutNowRequest{RPCHeader: h.header}})
	return nil, err
}
