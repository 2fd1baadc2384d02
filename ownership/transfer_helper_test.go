package ownership

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"github.com/seed-91e7e7c1/corona/ownership/sharedlog"
)

// The range that is sent in tests. Its neighbours must not be touched.
const (
	sentGroup = 7
	sentFrom  = channel.Buckets / 4
	sentTo    = channel.Buckets/4*3 - 1
)

var sentRange = channel.Range{ID: sentGroup, From: sentFrom, To: sentTo}

// replica is a range's log and state on some disk, without raft.
type replica struct {
	cfg   Config
	log   *sharedlog.Log
	db    *pebble.DB
	group *group
}

// openReplica opens a replica as a node does. The cluster counts when it is new.
func openReplica(t testing.TB, files vfs.FS, cluster string) (r *replica, err error) {
	t.Helper()
	return openReplicaIn(t, "node", files, cluster)
}

func openReplicaIn(t testing.TB, dir string, files vfs.FS, cluster string) (r *replica, err error) {
	t.Helper()
	fatal := func(err error) { t.Errorf("fatal: %v", err) }
	cfg := Config{Dir: dir, files: files, Fatal: fatal, CacheBytes: 1 << 20}.withDefaults()
	tools := newTools(cfg, newMetrics(prometheus.NewRegistry()))
	r = &replica{cfg: cfg}
	if r.log, err = openLog(cfg, tools, nil); err != nil {
		return nil, err
	}
	if r.db, err = openState(dir+"/state", cfg, tools, nil); err != nil {
		return nil, errors.Join(err, r.log.Close())
	}
	if cluster != "" {
		put(t, r.db, state.IdentityKey(), marshal(t, &wire.Identity{Cluster: []byte(cluster)}))
	}
	r.group, err = openGroup(sentRange, sentRange, seat{}, r.log, r.db, state.New(r.db), &flusher{db: r.db}, cfg, tools)
	if err == nil {
		r.group.fsm.gate = new(noReaders)
		r.group.fsm.transfer.pieces = 5000 // several files
		err = r.group.check()
	}
	if err != nil {
		return nil, errors.Join(err, r.db.Close(), r.log.Close())
	}
	return r, nil
}

// put writes a record, durably.
func put(t testing.TB, db *pebble.DB, key, value []byte) {
	t.Helper()
	if err := errors.Join(db.Set(key, value, pebble.NoSync), db.Flush()); err != nil {
		t.Fatal(err)
	}
}

// noReaders is the gate of a replica without readers.
type noReaders struct{}

func (*noReaders) Lock()   {}
func (*noReaders) Unlock() {}

func newReplica(t testing.TB, files vfs.FS, cluster string) *replica {
	t.Helper()
	r, err := openReplica(t, files, cluster)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.close(t) })
	return r
}

func (r *replica) close(t testing.TB) {
	t.Helper()
	if r.db == nil {
		return
	}
	if err := errors.Join(r.db.Close(), r.log.Close()); err != nil {
		t.Error(err)
	}
	r.db = nil
}

// run logs and applies one command an entry.
func (r *replica) run(t testing.TB, commands ...*wire.Command) {
	t.Helper()
	for _, command := range commands {
		if result := r.result(t, command); result.Err != nil {
			t.Fatal(result.Err)
		}
	}
}

// result logs and applies one command.
func (r *replica) result(t testing.TB, command *wire.Command) state.Result {
	t.Helper()
	last, _ := r.group.log.LastIndex()
	last = max(last, r.group.state.Index())
	command.TimeUs = wire.Micros(day0) + last
	entry := &raft.Log{Index: last + 1, Type: raft.LogCommand, Data: marshal(t, &wire.Entry{Commands: []*wire.Command{command}})}
	if err := r.group.log.StoreLog(entry); err != nil {
		t.Fatal(err)
	}
	a := r.group.fsm.Apply(entry).(applied)
	if a.err != nil {
		t.Fatal(a.err)
	}
	return a.results[0]
}

// sentCommands make channels of the sent range, each with two subscriptions, two
// versions and an update of so many bytes.
func sentCommands(t testing.TB, name string, channels, bytes int) (all []*wire.Command) {
	t.Helper()
	for i := 0; len(all) < 3*channels; i++ {
		url := fmt.Sprintf("http://%s.example/%d", name, i)
		id := channel.IDOf(url)
		if id.Bucket() < sentFrom || id.Bucket() > sentTo {
			continue
		}
		first := &wire.Commit{Channel: id[:], Incarnation: 1, Version: 1, Hash: make([]byte, 16), Seen: []uint64{uint64(i)}, AtUs: 1}
		second := &wire.Commit{Channel: id[:], Incarnation: 1, Base: 1, Version: 2, Update: make([]byte, bytes), Patch: []byte(url), AtUs: 2}
		// The incarnation is the bucket's own count.
		first.Incarnation = uint64(1 + countBucket(all, id.Bucket()))
		second.Incarnation = first.Incarnation
		all = append(all, subscribeCommand(item(url, stream), item(url, webhook)),
			&wire.Command{Change: &wire.Command_Commit{Commit: first}}, &wire.Command{Change: &wire.Command_Commit{Commit: second}})
	}
	return all
}

// countBucket counts the channels of a bucket that commands made.
func countBucket(commands []*wire.Command, b channel.Bucket) (n int) {
	for _, command := range commands {
		if s := command.GetSubscribe(); s != nil && channel.ID(s.Items[0].Channel).Bucket() == b {
			n++
		}
	}
	return n
}

// ofRange is the part of a dump that is the sent range's.
func ofRange(all map[string]string) map[string]string {
	part := maps.Clone(all)
	maps.DeleteFunc(part, func(key, _ string) bool {
		return key != string(state.AppliedKey(sentGroup)) && (key < string(state.FirstKey(sentFrom)) || key >= string(state.FirstKey(sentTo+1)))
	})
	return part
}

// without is a dump without the sent range's part.
func without(all map[string]string) map[string]string {
	rest := maps.Clone(all)
	for key := range ofRange(all) {
		delete(rest, key)
	}
	return rest
}

// sent is a replica's state as a stream.
func (r *replica) sent(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := r.group.fsm.transfer.send(&b, 0, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// take does what raft does with a snapshot that a leader sends. It calls counted
// when the snapshot counts.
func (r *replica) take(stream io.Reader, index uint64, counted func()) error {
	sink, err := r.group.snapshots.Create(1, index, 1, raft.Configuration{}, 1, nil)
	if err != nil {
		return err
	}
	// Like a network, in pieces.
	if _, err := io.CopyBuffer(struct{ io.Writer }{sink}, struct{ io.Reader }{stream}, make([]byte, 10_000)); err != nil {
		return errors.Join(err, sink.Cancel())
	}
	if err := sink.Close(); err != nil {
		return err
	}
	counted()
	_, source, err := r.group.snapshots.Open(sink.ID())
	if err != nil {
		return err
	}
	return errors.Join(r.group.fsm.Restore(source), source.Close())
}

func never() {}

// leftovers lists the files of streams.
func leftovers(t testing.TB, files vfs.FS, dir string) []string {
	t.Helper()
	names, err := files.List(dir)
	if err != nil {
		return nil // there is no such directory
	}
	return names
}

// keyOf is a key of a bucket, of some kind.
func keyOf(b channel.Bucket, kind byte) []byte { return append(state.FirstKey(b)[:2], kind) }

const transferDir = "node/transfer/7"
