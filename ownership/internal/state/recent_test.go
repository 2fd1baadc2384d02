package state

import (
	"fmt"
	"testing"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// It keeps what it was given last, up to its bound, in memory of its own.
func TestRecent(t *testing.T) {
	r := newRecent(2)
	id := func(i int) channel.ID { return channel.IDOf(fmt.Sprint(i)) }
	value := make([]byte, 0, 8)
	for i := range 100 {
		value = fmt.Appendf(value[:0], "%d", i)
		r.put(id(i), value)
		if want := min(i+1, 2*recentPerBucket); len(r.records) != want {
			t.Fatalf("%d records after %d, want %d", len(r.records), i+1, want)
		}
	}
	kept := 0
	for i := range 100 {
		record, ok := r.records[id(i)]
		if !ok {
			continue
		}
		kept++
		if string(record) != fmt.Sprint(i) {
			t.Errorf("channel %d has the record %q", i, record)
		}
	}
	if kept != 2*recentPerBucket {
		t.Errorf("%d channels kept", kept)
	}
}

// Whatever subscriptions come and go, what is kept is what the state has, of channels with
// several subscribers alone.
func TestRecentIsTheState(t *testing.T) {
	m := newMachine(t)
	url := "http://example.com/"
	id := channel.IDOf(url)
	var seqs []uint64
	for _, kept := range []bool{false, true, true} {
		added := m.apply(t, day0, subscribeCommand(item(url, stream))).Subscribed[0]
		if added.Err != nil {
			t.Fatal(added.Err)
		}
		seqs = append(seqs, added.Seq)
		checkRecent(t, m, id, kept)
	}
	for i, kept := range []bool{true, false, false} {
		leave := &wire.Command{Change: &wire.Command_Unsubscribe{Unsubscribe: &wire.Unsubscribe{
			Bucket: uint32(id.Bucket()), Seq: seqs[i],
		}}}
		if r := m.apply(t, day0, leave); r.Err != nil {
			t.Fatal(r.Err)
		}
		checkRecent(t, m, id, kept)
	}
}

func checkRecent(t *testing.T, m *machine, id channel.ID, kept bool) {
	t.Helper()
	there, err := getChannel(m.db, id)
	if err != nil {
		t.Fatal(err)
	}
	record := m.recent.records[id]
	if (record != nil) != kept {
		t.Fatalf("with %d subscribers, a record is kept: %t, want %t", there.Subscribers, record != nil, kept)
	}
	if state := marshal(t, there); kept && string(state) != string(record) {
		t.Errorf("with %d subscribers, the state has %x, %x is kept", there.Subscribers, state, record)
	}
}
