package raftnet

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"pgregory.net/rapid"
)

func drawHeader(t *rapid.T) raft.RPCHeader {
	return raft.RPCHeader{ProtocolVersion: raft.ProtocolVersion(rapid.IntRange(0, 3).Draw(t, "version")), ID: drawBytes(t), Addr: drawBytes(t)}
}

func drawBytes(t *rapid.T) []byte {
	b := rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "bytes")
	if len(b) == 0 {
		return nil
	}
	return b
}

func drawNumber(t *rapid.T) uint64 { return rapid.Uint64().Draw(t, "number") }

// TestMessagesReadBack: every message reads as what was written, and no cut of it does.
func TestMessagesReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := &raft.AppendEntriesRequest{RPCHeader: drawHeader(t), Term: drawNumber(t), PrevLogEntry: drawNumber(t), PrevLogTerm: drawNumber(t), LeaderCommitIndex: drawNumber(t)}
		for range rapid.IntRange(0, 4).Draw(t, "entries") {
			a.Entries = append(a.Entries, &raft.Log{
				Index: drawNumber(t), Term: drawNumber(t), Type: raft.LogType(rapid.Byte().Draw(t, "type")), Data: drawBytes(t), Extensions: drawBytes(t),
				AppendedAt: fromNanos(uint64(rapid.Int64Range(0, time.Now().UnixNano()).Draw(t, "at"))),
			})
		}
		readsBack(t, a, encodeAppend(a), decodeAppend)
		v := &raft.RequestVoteRequest{RPCHeader: drawHeader(t), Term: drawNumber(t), LastLogIndex: drawNumber(t), LastLogTerm: drawNumber(t), LeadershipTransfer: rapid.Bool().Draw(t, "transfer")}
		readsBack(t, v, encodeVote(v), decodeVote)
		p := &raft.RequestPreVoteRequest{RPCHeader: drawHeader(t), Term: drawNumber(t), LastLogIndex: drawNumber(t), LastLogTerm: drawNumber(t)}
		readsBack(t, p, encodePreVote(p), decodePreVote)
		s := &raft.InstallSnapshotRequest{
			RPCHeader: drawHeader(t), SnapshotVersion: 1, Term: drawNumber(t), LastLogIndex: drawNumber(t), LastLogTerm: drawNumber(t),
			Configuration: drawBytes(t), ConfigurationIndex: drawNumber(t), Size: rapid.Int64().Draw(t, "size"),
		}
		readsBack(t, s, encodeInstall(s), decodeInstall)
		r := raft.AppendEntriesResponse{RPCHeader: drawHeader(t), Term: drawNumber(t), LastLog: drawNumber(t), Success: rapid.Bool().Draw(t, "success"), NoRetryBackoff: rapid.Bool().Draw(t, "soon")}
		readsBack(t, r, encodeAppended(&r), decodeAppended)
		b := ballot{drawHeader(t), drawNumber(t), rapid.Bool().Draw(t, "granted")}
		readsBack(t, b, encodeBallot(b), decodeBallot)
		h := handover{drawHeader(t), drawNumber(t)}
		readsBack(t, h, encodeHandover(h), decodeHandover)
		beats := []*beat{{group: drawNumber(t), message: drawBytes(t)}, {group: drawNumber(t), message: drawBytes(t)}}
		readsBack(t, beats, encodeBeats(beats), decodeBeats)
		answers := []beatAnswer{{message: drawBytes(t)}, {err: errors.New("no")}}
		readsBack(t, answers, encodeBeatAnswers(answers), decodeBeatAnswers)
	})
}

func readsBack[M any](t *rapid.T, message M, encoded []byte, decode func([]byte) (M, error)) {
	got, err := decode(encoded)
	if err != nil || !reflect.DeepEqual(got, message) {
		t.Fatalf("%+v reads as %+v, %v", message, got, err)
	}
	if _, err := decode(encoded[:rapid.IntRange(0, len(encoded)-1).Draw(t, "cut")]); err == nil {
		t.Fatalf("a cut %T reads", message)
	}
	if _, err := decode(append(encoded, 0)); err == nil {
		t.Fatalf("a %T with a byte more reads", message)
	}
}

func TestReplicaNames(t *testing.T) {
	for _, number := range []uint32{0, 1, 1<<32 - 1} {
		r := Replica{Range: 63, Node: "n1.0f", Number: number}
		got, err := ParseID(63, r.ID())
		if err != nil || got != r {
			t.Errorf("%+v, %v; want %+v", got, err, r)
		}
		if got := replicaOf(r.Node, r.Group()); got != r {
			t.Errorf("%+v, want %+v", got, r)
		}
	}
	for _, bad := range []raft.ServerID{"", "n1/", "/1", "n1/0", "n1/01", "n1/+1", "n1/-1", "n1/4294967296", "n1/1/1", "n1/x"} {
		if r, err := ParseID(63, bad); err == nil {
			t.Errorf("%q is %v", bad, r)
		}
	}
}

// FuzzDecode: whatever comes is decoded without a panic and without more memory than
// it has bytes; what passes the checks is what raft can take.
func FuzzDecode(f *testing.F) {
	header := raft.RPCHeader{ProtocolVersion: 3, ID: []byte("n/1"), Addr: []byte("n")}
	f.Add(encodeAppend(&raft.AppendEntriesRequest{RPCHeader: header, Term: 3, PrevLogEntry: 1, PrevLogTerm: 1, Entries: []*raft.Log{
		{Index: 2, Term: 2, Type: raft.LogConfiguration, Data: raft.EncodeConfiguration(raft.Configuration{Servers: []raft.Server{{ID: "n/1", Address: "n"}}})},
	}}))
	f.Add(encodeInstall(&raft.InstallSnapshotRequest{RPCHeader: header, SnapshotVersion: 1}))
	f.Add(encodeVote(&raft.RequestVoteRequest{RPCHeader: header, LeadershipTransfer: true}))
	f.Add([]byte{3, 0, 0, 1, 1, 1, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F})
	f.Fuzz(func(t *testing.T, message []byte) {
		if a, err := decodeAppend(message); err == nil && checkAppend(a, func(*raft.Log) error { return nil }) == nil {
			for _, e := range a.Entries {
				if e.Type == raft.LogConfiguration {
					raft.DecodeConfiguration(e.Data) // panics
				}
			}
		}
		if s, err := decodeInstall(message); err == nil && checkInstall(s) == nil {
			raft.DecodeConfiguration(s.Configuration)
		}
		_, _ = decodeVote(message)
		_, _ = decodePreVote(message)
		_, _ = decodeAppended(message)
		_, _ = decodeBallot(message)
		_, _ = decodeHandover(message)
		_, _ = decodeBeats(message)
		_, _ = decodeBeatAnswers(message)
	})
}
