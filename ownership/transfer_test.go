package ownership

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
	"github.com/seed-91e7e7c1/corona/ownership/internal/transfer"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// before are the states that a restore meets.
var before = map[string]func(t testing.TB, r *replica){
	"missing": func(testing.TB, *replica) {},
	"older": func(t testing.TB, r *replica) {
		commands := sentCommands(t, "new", 20, 1000)
		r.run(t, commands[:20]...)
		if err := r.db.Flush(); err != nil {
			t.Fatal(err)
		}
		r.run(t, commands[20:30]...) // not on disk yet
	},
	"half of another": func(t testing.TB, r *replica) {
		r.run(t, sentCommands(t, "other", 10, 30)...)
		if err := r.db.Flush(); err != nil {
			t.Fatal(err)
		}
		half := state.FirstKey((sentFrom + sentTo) / 2)
		if err := errors.Join(r.db.DeleteRange(state.FirstKey(sentFrom), half, pebble.NoSync), r.db.Flush()); err != nil {
			t.Fatal(err)
		}
	},
}

// neighbours are keys beside the range, of which the outer are nearest to it.
func neighbours(t testing.TB, r *replica) {
	t.Helper()
	for _, key := range [][]byte{
		keyOf(0, 'b'), append(keyOf(sentFrom-1, 0xFF), 0xFF), keyOf(sentTo+1, 'b'),
		state.AppliedKey(sentGroup - 1), state.AppliedKey(sentGroup + 1),
	} {
		put(t, r.db, key, nil)
	}
}

// source is a replica with the state that is sent.
func source(t testing.TB) *replica {
	t.Helper()
	r := newReplica(t, vfs.NewMem(), "cluster")
	neighbours(t, r)
	r.run(t, sentCommands(t, "new", 20, 1000)...)
	return r
}

// TestTransfer: a state arrives as it was, whatever was in its place, and nothing
// beside it changes.
func TestTransfer(t *testing.T) {
	from := source(t)
	stream := from.sent(t)
	want := ofRange(dump(t, from.db))
	for name, prepare := range before {
		t.Run(name, func(t *testing.T) {
			files := vfs.NewMem()
			r := newReplica(t, files, "cluster")
			neighbours(t, r)
			prepare(t, r)
			beside := without(dump(t, r.db))
			if err := r.take(bytes.NewReader(stream), from.group.state.Index()-5, never); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				all := dump(t, r.db)
				if !maps.Equal(ofRange(all), want) {
					t.Errorf("%d keys of state, want %d", len(ofRange(all)), len(want))
				}
				if !maps.Equal(without(all), beside) {
					t.Errorf("%d keys beside it, there were %d", len(without(all)), len(beside))
				}
				if got, want := r.group.state.String(), from.group.state.String(); got != want {
					t.Errorf("in memory:\n%s\nwant\n%s", got, want)
				}
				if left := leftovers(t, files, transferDir); len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
				r.close(t)
				r = newReplica(t, files, "")
			}
			r.run(t, sentCommands(t, "later", 1, 10)...)
			if got := r.group.state.Index(); got != from.group.state.Index()+3 {
				t.Errorf("after 3 more entries at %d", got)
			}
		})
	}
}

// TestSendWhileApplying: a stream is of one moment, whatever is applied meanwhile.
func TestSendWhileApplying(t *testing.T) {
	r := source(t)
	want := ofRange(dump(t, r.db))
	more := sentCommands(t, "more", 20, 20_000)
	var b bytes.Buffer
	busy := writerFunc(func(p []byte) (int, error) {
		if len(more) > 0 {
			n := min(len(more), 6)
			r.run(t, more[:n]...)
			more = more[n:]
		}
		if err := r.db.Flush(); err != nil {
			t.Error(err)
		}
		return b.Write(p)
	})
	if err := r.group.fsm.transfer.send(busy, 0, nil); err != nil {
		t.Fatal(err)
	}
	if maps.Equal(ofRange(dump(t, r.db)), want) {
		t.Fatal("nothing was applied meanwhile")
	}
	to := newReplica(t, vfs.NewMem(), "cluster")
	if err := to.take(&b, 1, never); err != nil {
		t.Fatal(err)
	}
	if got := ofRange(dump(t, to.db)); !maps.Equal(got, want) {
		t.Errorf("%d keys, want the %d of when it began", len(got), len(want))
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestRefusedStreams: bad-input.md, row 58. A stream that is not whole, or not for
// this replica, changes nothing, and the error says what is wrong.
func TestRefusedStreams(t *testing.T) {
	good := source(t).sent(t)
	flipped := bytes.Clone(good)
	flipped[len(flipped)-300] ^= 1
	own := &wire.TransferHeader{Group: sentGroup, From: sentFrom, To: sentTo, Cluster: []byte("cluster"), Applied: &wire.Applied{Index: 1000}}
	with := func(change func(h *wire.TransferHeader), keys ...[]byte) []byte {
		h := &wire.TransferHeader{Group: own.Group, From: own.From, To: own.To, Cluster: own.Cluster, Applied: &wire.Applied{Index: 1000}}
		change(h)
		return written(t, h, keys...)
	}
	same := func(*wire.TransferHeader) {}
	for _, test := range []struct {
		name   string
		stream []byte
		is     error
		want   string
	}{
		{"empty", nil, io.ErrUnexpectedEOF, "snapshot of range 7"},
		{"cut in the header", good[:20], transfer.ErrStream, "is cut in frame 0"},
		{"cut in the middle", good[:len(good)/2], transfer.ErrStream, "is cut in frame"},
		{"cut before the last byte", good[:len(good)-1], transfer.ErrStream, "is cut in frame"},
		{"flipped", flipped, transfer.ErrStream, "checksum of frame"},
		{"goes on", append(bytes.Clone(good), 0), transfer.ErrStream, "goes on after its end"},
		{"another cluster", with(func(h *wire.TransferHeader) { h.Cluster = []byte("foreign") }), ErrForeign, "state is of cluster"},
		{"another range", with(func(h *wire.TransferHeader) { h.Group = 8 }), transfer.ErrStream, "is of range 8"},
		{"other buckets", with(func(h *wire.TransferHeader) { h.To++ }), transfer.ErrStream, "not of range 7"},
		{"older", with(func(h *wire.TransferHeader) { h.Applied.Index = 5 }), transfer.ErrStream, "ends at entry 5, the state here at 30"},
		{"key before the range", with(same, keyOf(sentFrom-1, 'c')), transfer.ErrStream, "is not of buckets"},
		{"key behind the range", with(same, keyOf(sentFrom, 'c'), keyOf(sentTo+1, 'c')), transfer.ErrStream, "is not of buckets"},
		{"another group's position", with(same, keyOf(sentFrom, 'c'), state.AppliedKey(3)), transfer.ErrStream, "is not of buckets"},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := vfs.NewMem()
			r := newReplica(t, files, "cluster")
			before["older"](t, r)
			all, memory := dump(t, r.db), r.group.state.String()
			counted := false
			err := r.take(bytes.NewReader(test.stream), 1000, func() { counted = true })
			if !errors.Is(err, test.is) || !strings.Contains(fmt.Sprint(err), test.want) || counted {
				t.Errorf("error %v, want %v with %q; counts: %v", err, test.is, test.want, counted)
			}
			if !maps.Equal(dump(t, r.db), all) || r.group.state.String() != memory {
				t.Error("state changed")
			}
			if left := leftovers(t, files, transferDir); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			r.run(t, sentCommands(t, "later", 1, 10)...)
			r.close(t)
			r = newReplica(t, files, "")
			if r.group.state.Index() != 33 && r.group.state.Index() != 20 {
				t.Errorf("after a restart at %d", r.group.state.Index())
			}
		})
	}
}

// written is a whole stream of some keys.
func written(t testing.TB, h *wire.TransferHeader, keys ...[]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := transfer.NewWriter(&b, h)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if err := w.Add(key, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestRestoredIsKnown: what a state machine knew of the state of before says nothing
// about the one that it was given: no key or channel of that is taken for new.
func TestRestoredIsKnown(t *testing.T) {
	keyed := func(url string, digest byte) (claim, subscribe *wire.Command) {
		one := item(url, stream)
		one.Key, one.Digest = one.Channel, slices.Repeat([]byte{digest}, 16)
		claim = &wire.Command{Change: &wire.Command_Claim{Claim: &wire.Claim{Items: []*wire.Claim_Item{{Key: one.Key, Digest: one.Digest}}}}}
		return claim, subscribeCommand(one)
	}
	url := string(sentCommands(t, "new", 1, 10)[0].GetSubscribe().Items[0].Url)
	claim, subscribe := keyed(url, 1)
	from := newReplica(t, vfs.NewMem(), "cluster")
	from.run(t, claim, subscribe, &wire.Command{Change: &wire.Command_Tick{Tick: &wire.Tick{}}}) // more than the other has

	to := newReplica(t, vfs.NewMem(), "cluster")
	other, key := &wire.Claim_Item{Key: bytes.Clone(claim.GetClaim().Items[0].Key), Digest: make([]byte, 16)}, claim.GetClaim().Items[0]
	other.Key[3] ^= 1 // of the same bucket, so that the machine reads what that has
	neighbour := proto.CloneOf(subscribe.GetSubscribe().Items[0])
	neighbour.Channel, neighbour.Key, neighbour.Digest = other.Key, other.Key, other.Digest
	to.run(t, &wire.Command{Change: &wire.Command_Claim{Claim: &wire.Claim{Items: []*wire.Claim_Item{other}}}}, subscribeCommand(neighbour))
	if to.group.state.MayHold(channel.ID(key.Key)) {
		t.Fatal("a channel that never was may be there")
	}
	if err := to.take(bytes.NewReader(from.sent(t)), from.group.state.Index(), never); err != nil {
		t.Fatal(err)
	}
	claim, _ = keyed(url, 2)
	if r := to.result(t, claim); !errors.Is(r.Claims[0], ErrKeyReused) {
		t.Errorf("the key with another request after a restore: %v", r.Claims[0])
	}
	if r := to.result(t, subscribe); !r.Subscribed[0].Existing {
		t.Errorf("the same request after a restore: %+v", r.Subscribed[0])
	}
	if channels, _ := to.group.state.Counts(); channels != 1 {
		t.Errorf("%d channels after a restore and a request of before", channels)
	}
}
