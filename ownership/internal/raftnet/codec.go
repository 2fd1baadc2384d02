package raftnet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
)

// Messages are their fields in the order of the structs, without the deprecated ones:
// numbers as varints, bytes with their length before them, booleans as a byte. A
// message ends where its fields do. Package peer's protocol version covers the form.

var errMessage = errors.New("not a message of raft")

// writer appends fields.
type writer []byte

func (w *writer) number(n uint64) { *w = binary.AppendUvarint(*w, n) }

func (w *writer) bytes(b []byte) {
	w.number(uint64(len(b)))
	*w = append(*w, b...)
}

func (w *writer) bool(b bool) {
	if b {
		*w = append(*w, 1)
	} else {
		*w = append(*w, 0)
	}
}

func (w *writer) header(h raft.RPCHeader) {
	w.number(uint64(h.ProtocolVersion))
	w.bytes(h.ID)
	w.bytes(h.Addr)
}

// reader takes fields off. After the first failure all others are zero.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.rest, r.bad = nil, true
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

// bytes returns a part of the message, nil for none.
func (r *reader) bytes() []byte {
	n := r.number()
	if n > uint64(len(r.rest)) {
		r.rest, r.bad = nil, true
	}
	if n == 0 || r.bad {
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) bool() bool {
	n := r.number()
	r.bad = r.bad || n > 1
	return n == 1
}

func (r *reader) header() raft.RPCHeader {
	version := r.number()
	r.bad = r.bad || version > uint64(raft.ProtocolVersionMax)
	return raft.RPCHeader{ProtocolVersion: raft.ProtocolVersion(version), ID: r.bytes(), Addr: r.bytes()}
}

// end returns an error when fields were missing, wrong or too many.
func (r *reader) end(what string) error {
	if r.bad || len(r.rest) > 0 {
		return fmt.Errorf("%w: %s", errMessage, what)
	}
	return nil
}

func encodeAppend(a *raft.AppendEntriesRequest) []byte {
	size := 128
	for _, e := range a.Entries {
		size += len(e.Data) + len(e.Extensions) + 48
	}
	w := make(writer, 0, size)
	w.header(a.RPCHeader)
	w.number(a.Term)
	w.number(a.PrevLogEntry)
	w.number(a.PrevLogTerm)
	w.number(a.LeaderCommitIndex)
	w.number(uint64(len(a.Entries)))
	for _, e := range a.Entries {
		w.number(e.Index)
		w.number(e.Term)
		w = append(w, byte(e.Type))
		w.bytes(e.Data)
		w.bytes(e.Extensions)
		w.number(nanos(e.AppendedAt))
	}
	return w
}

// leastEntry is the fewest bytes that an entry takes.
const leastEntry = 6

func decodeAppend(b []byte) (*raft.AppendEntriesRequest, error) {
	r := &reader{rest: b}
	a := &raft.AppendEntriesRequest{
		RPCHeader: r.header(), Term: r.number(),
		PrevLogEntry: r.number(), PrevLogTerm: r.number(), LeaderCommitIndex: r.number(),
	}
	count := r.number()
	if count > uint64(len(r.rest)/leastEntry) {
		return nil, fmt.Errorf("%w: %d entries in %d bytes", errMessage, count, len(r.rest))
	}
	entries := make([]raft.Log, count)
	for i := range entries {
		e := &entries[i]
		e.Index, e.Term, e.Type = r.number(), r.number(), raft.LogType(r.small())
		e.Data, e.Extensions, e.AppendedAt = r.bytes(), r.bytes(), fromNanos(r.number())
		a.Entries = append(a.Entries, e)
	}
	return a, r.end("append")
}

// small is a number of one byte.
func (r *reader) small() byte {
	if len(r.rest) == 0 {
		r.bad = true
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

// nanos and fromNanos keep the zero time zero.
func nanos(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(t.UnixNano())
}

func fromNanos(n uint64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(n))
}

func encodeAppended(a *raft.AppendEntriesResponse) []byte {
	var w writer
	w.header(a.RPCHeader)
	w.number(a.Term)
	w.number(a.LastLog)
	w.bool(a.Success)
	w.bool(a.NoRetryBackoff)
	return w
}

func decodeAppended(b []byte) (raft.AppendEntriesResponse, error) {
	r := &reader{rest: b}
	a := raft.AppendEntriesResponse{RPCHeader: r.header(), Term: r.number(), LastLog: r.number(), Success: r.bool(), NoRetryBackoff: r.bool()}
	return a, r.end("answer to append")
}

func encodeVote(v *raft.RequestVoteRequest) []byte {
	var w writer
	w.header(v.RPCHeader)
	w.number(v.Term)
	w.number(v.LastLogIndex)
	w.number(v.LastLogTerm)
	w.bool(v.LeadershipTransfer)
	return w
}

func decodeVote(b []byte) (*raft.RequestVoteRequest, error) {
	r := &reader{rest: b}
	v := &raft.RequestVoteRequest{RPCHeader: r.header(), Term: r.number(), LastLogIndex: r.number(), LastLogTerm: r.number(), LeadershipTransfer: r.bool()}
	return v, r.end("vote")
}

func encodePreVote(v *raft.RequestPreVoteRequest) []byte {
	var w writer
	w.header(v.RPCHeader)
	w.number(v.Term)
	w.number(v.LastLogIndex)
	w.number(v.LastLogTerm)
	return w
}

func decodePreVote(b []byte) (*raft.RequestPreVoteRequest, error) {
	r := &reader{rest: b}
	v := &raft.RequestPreVoteRequest{RPCHeader: r.header(), Term: r.number(), LastLogIndex: r.number(), LastLogTerm: r.number()}
	return v, r.end("pre-vote")
}

// ballot is the answer to a vote, to a pre-vote and, with granted for success, to a
// state that was sent.
type ballot struct {
	header  raft.RPCHeader
	term    uint64
	granted bool
}

func encodeBallot(v ballot) []byte {
	var w writer
	w.header(v.header)
	w.number(v.term)
	w.bool(v.granted)
	return w
}

func decodeBallot(b []byte) (ballot, error) {
	r := &reader{rest: b}
	v := ballot{r.header(), r.number(), r.bool()}
	return v, r.end("answer")
}

func encodeInstall(s *raft.InstallSnapshotRequest) []byte {
	var w writer
	w.header(s.RPCHeader)
	w.number(uint64(s.SnapshotVersion))
	w.number(s.Term)
	w.number(s.LastLogIndex)
	w.number(s.LastLogTerm)
	w.bytes(s.Configuration)
	w.number(s.ConfigurationIndex)
	w.number(uint64(s.Size))
	return w
}

func decodeInstall(b []byte) (*raft.InstallSnapshotRequest, error) {
	r := &reader{rest: b}
	header, version := r.header(), r.number()
	r.bad = r.bad || version > uint64(raft.SnapshotVersionMax)
	s := &raft.InstallSnapshotRequest{
		RPCHeader: header, SnapshotVersion: raft.SnapshotVersion(version), Term: r.number(),
		LastLogIndex: r.number(), LastLogTerm: r.number(),
		Configuration: r.bytes(), ConfigurationIndex: r.number(), Size: int64(r.number()),
	}
	return s, r.end("state")
}

// handover asks the replica to stand for election at once. Raft's own message has no
// term, so that an old one would be obeyed.
type handover struct {
	header raft.RPCHeader
	term   uint64
}

func encodeHandover(h handover) []byte {
	var w writer
	w.header(h.header)
	w.number(h.term)
	return w
}

func decodeHandover(b []byte) (handover, error) {
	r := &reader{rest: b}
	h := handover{r.header(), r.number()}
	return h, r.end("handover")
}
