package ownership

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/backup"
	"github.com/seed-91e7e7c1/corona/ownership/internal/tables"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// settled fills a store with some of everything that it keeps.
func settled(t testing.TB, s *Store) {
	t.Helper()
	ctx := context.Background()
	for i := range 40 {
		url := fmt.Sprintf("http://example.com/%d", i)
		sink := webhook
		sink.URL = fmt.Sprintf("https://sink.example/%d", i%3)
		made := subscribe(t, s, wish(url, fmt.Sprint("key", i), sink))
		second := subscribe(t, s, wish(url, "", stream))
		grow(t, s, made.Channel, uint64(i%4))
		if i%5 == 0 {
			if err := s.Unsubscribe(ctx, second.ID); err != nil {
				t.Fatal(err)
			}
		}
		c, err := s.Channel(made.Channel)
		if err != nil {
			t.Fatal(err)
		}
		if i%7 == 0 {
			gone := nextCommit(c)
			gone.Gone = true
			if err := s.Commit(ctx, gone); err != nil {
				t.Fatal(err)
			}
		}
		if c.Version > 1 {
			progress := channel.Progress{Channel: c.ID, Incarnation: c.Incarnation, Version: c.Version, Seq: made.Seq,
				Stragglers: []channel.Straggler{{Seq: made.Seq, Next: 2}}}
			if err := s.Advance(ctx, []channel.Progress{progress}); err != nil {
				t.Fatal(err)
			}
		}
	}
	broken := channel.Endpoint{URL: "https://sink.example/1", State: "suspended", FailingSince: day0, Attempts: 3, LastError: "refused"}
	if err := s.SetEndpoint(ctx, broken, channel.Endpoint{URL: broken.URL}); err != nil {
		t.Fatal(err)
	}
}

// holdings is all that a view shows, by what it is of. Incarnations are left out.
func holdings(t testing.TB, v View) map[string]string {
	t.Helper()
	ctx := context.Background()
	all := make(map[string]string)
	for q := (SubscriptionQuery{Limit: 100}); ; {
		page, next, err := v.Subscriptions(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range page {
			all["subscription "+s.ID] = fmt.Sprintf("%+v", s)
			endpoint, err := v.Endpoint(ctx, s.Sink.URL)
			all["endpoint "+s.Sink.URL] = fmt.Sprintf("%+v %v", endpoint, err)
		}
		if q.After = next; next == "" {
			break
		}
	}
	channels, err := v.Channels(ctx, nil, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for _, listed := range channels {
		c, err := v.Channel(ctx, listed.ID)
		if err != nil {
			t.Fatal(err)
		}
		progress, err := v.Progress(ctx, c.ID)
		if err != nil {
			t.Fatal(err)
		}
		updates, gap, err := v.Updates(ctx, c.ID, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		c.Incarnation, progress.Incarnation = 0, 0
		for i := range updates {
			updates[i].Incarnation = 0
		}
		all["channel "+c.URL] = fmt.Sprintf("%+v", c)
		all["progress "+c.URL] = fmt.Sprintf("%+v", progress)
		all["updates "+c.URL] = fmt.Sprintf("%+v %+v", updates, gap)
	}
	return all
}

func sameHoldings(t testing.TB, got, want map[string]string) {
	t.Helper()
	for what, is := range want {
		if got[what] != is {
			t.Errorf("%s is\n%s, want\n%s", what, got[what], is)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d things, want %d", len(got), len(want))
	}
}

func backupOf(t testing.TB, s *Store) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := s.Backup(context.Background(), &file, "test"); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// TestRestore: three nodes with another number of ranges hold what one node held, hear of
// it, and go on from there without giving any ID twice.
func TestRestore(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	one := open(t, testConfig(t))
	settled(t, one)
	want, file := holdings(t, one.View()), backupOf(t, one)
	old := subscribe(t, one, wish("http://example.com/1", "", stream)) // after the backup

	w := newTown(t, 3, 1, func(c *Config) { c.Ranges = 7 })
	for range 2 { // the second is refused, and changes nothing
		summary, err := w.nodes[1].store.Restore(ctx, bytes.NewReader(file))
		if want["restored"] == "" {
			if err != nil {
				t.Fatal(err)
			}
			if summary.Channels != 40 || summary.Subscriptions != 72 || summary.Keys != 80 || summary.Endpoints != 1 {
				t.Errorf("summary %+v", summary)
			}
			want["restored"] = "once"
		} else if !errors.Is(err, ErrNotFresh) {
			t.Errorf("restore again: %v", err)
		}
	}
	delete(want, "restored")
	for _, n := range w.nodes {
		sameHoldings(t, holdings(t, n.store.View()), want)
	}
	view := w.nodes[0].store.View()
	was, err := one.Channel(old.Channel)
	if err != nil {
		t.Fatal(err)
	}
	if is, err := view.Channel(ctx, old.Channel); err != nil || is.Incarnation <= was.Incarnation {
		t.Errorf("incarnation %d, %v; it was %d", is.Incarnation, err, was.Incarnation)
	}
	again := w.nodes[2].store.Subscribe(ctx, []NewSubscription{wish("http://example.com/1", "key1", channel.Sink{Type: channel.SinkWebhook, URL: "https://sink.example/1", Secret: "whsec_x"})})[0]
	if again.Err != nil || !again.Existing || want["subscription "+again.ID] == "" {
		t.Errorf("a request of before, again: %+v", again)
	}
	later := w.nodes[2].store.Subscribe(ctx, []NewSubscription{wish("http://example.com/1", "", stream)})[0]
	if later.Err != nil || later.Seq <= old.Seq {
		t.Errorf("subscription %d after the restore: %v; %d was given before", later.Seq, later.Err, old.Seq)
	}
	if err := w.nodes[0].store.Unsubscribe(ctx, old.ID); err != nil {
		t.Errorf("unsubscribe one that was made after the backup: %v", err)
	}
	for id := range want {
		if id, ok := cutSubscription(id); ok {
			if err := w.nodes[0].store.Unsubscribe(ctx, id); err != nil {
				t.Errorf("unsubscribe %s: %v", id, err)
			}
		}
	}
	if left, _, err := view.Subscriptions(ctx, SubscriptionQuery{Limit: 10}); err != nil || len(left) != 1 || left[0].ID != later.ID {
		t.Errorf("%+v, %v are left; want %s", left, err, later.ID)
	}
	w.agree()
	for _, n := range w.nodes {
		if channels, subscriptions := n.store.Counts(); channels != 40 || subscriptions != 1 {
			t.Errorf("%d channels, %d subscriptions at %s; want 40 and 1", channels, subscriptions, n.name)
		}
	}
}

func cutSubscription(what string) (id string, ok bool) {
	const prefix = "subscription "
	if len(what) < len(prefix) || what[:len(prefix)] != prefix {
		return "", false
	}
	return what[len(prefix):], true
}

// TestBackupOfSeveral: any node writes the backup of three, and a lone node takes it.
func TestBackupOfSeveral(t *testing.T) {
	t.Parallel()
	w := newTown(t, 3, 2, func(c *Config) { c.Ranges = 5 })
	for i := range 30 {
		for _, key := range []string{"", fmt.Sprint("key", i)} {
			if r := w.nodes[i%3].store.Subscribe(context.Background(), []NewSubscription{wish(fmt.Sprintf("http://example.com/%d", i), key, webhook)})[0]; r.Err != nil {
				t.Fatal(r.Err)
			}
		}
	}
	want := holdings(t, w.nodes[0].store.View())
	for _, n := range w.nodes {
		one := open(t, testConfig(t))
		if _, err := one.Restore(context.Background(), bytes.NewReader(backupOf(t, n.store))); err != nil {
			t.Fatal(err)
		}
		sameHoldings(t, holdings(t, one.View()), want)
	}
}

// TestBackupWaitsForLeader: a backup waits while no range has a leader.
func TestBackupWaitsForLeader(t *testing.T) {
	t.Parallel()
	w := newTown(t, 3, 38, func(c *Config) { c.Ranges = 2 })
	w.filled(20, "before")
	for _, n := range w.nodes {
		n.each(w.net.Cut)
	}
	var healing sync.WaitGroup
	healing.Go(func() {
		time.Sleep(answerWithin + 2*time.Second)
		for _, n := range w.nodes {
			n.each(w.net.Heal)
		}
	})
	defer healing.Wait()
	began := time.Now()
	if _, err := backup.Check(bytes.NewReader(backupOf(t, w.nodes[0].store)), nil); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took < answerWithin {
		t.Errorf("it took %s, though there was no leader", took) // or the test shows nothing
	}
}

// leads is an observer that keeps which ranges it knows to be led here.
type leads struct {
	recorder
	mu     sync.Mutex
	ranges map[uint32]channel.Range
	gained int // times that it was told
}

func newLeads() *leads { return &leads{ranges: make(map[uint32]channel.Range)} }

func (l *leads) RangeGained(r channel.Range, _ uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before, known := l.ranges[r.ID]; known {
		panic(fmt.Sprintf("range %+v is gained, and was %+v", r, before))
	}
	l.ranges[r.ID] = r
	l.gained++
}

func (l *leads) RangeLost(r channel.Range, _ uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ranges[r.ID] != r {
		panic(fmt.Sprintf("range %+v is lost, and was %+v", r, l.ranges[r.ID]))
	}
	delete(l.ranges, r.ID)
}

func (l *leads) counts() (led, gained int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.ranges), l.gained
}

// await waits until so many ranges are known to be led here.
func (l *leads) await(t *testing.T, want int) {
	t.Helper()
	eventually(t, "ranges that are led", func() error {
		if led, _ := l.counts(); led != want {
			return fmt.Errorf("%d are known, want %d", led, want)
		}
		return nil
	})
}

// TestRestoreResumes: a restore that ended early refuses all else, also after a restart,
// and is taken up again. Nobody is told of a range that has a part of it, so that nothing of
// that is polled or delivered.
func TestRestoreResumes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	one := open(t, testConfig(t))
	settled(t, one)
	want, file := holdings(t, one.View()), backupOf(t, one)
	config := testConfig(t)
	told := newLeads()
	config.Observer = told
	fresh, err := openSoon(config)
	if err != nil {
		t.Fatal(err)
	}
	told.await(t, config.Ranges)
	for _, cut := range []int{len(file) / 2, len(file) - 1} {
		if _, err := fresh.Restore(ctx, bytes.NewReader(file[:cut])); !errors.Is(err, backup.ErrFile) {
			t.Fatalf("restore of half a file: %v", err)
		}
		told.await(t, 0)
		shut(t, fresh)
		told = newLeads()
		config.Observer = told
		if fresh, err = openSoon(config); err != nil {
			t.Fatal(err)
		}
		if r := fresh.Subscribe(ctx, []NewSubscription{wish("http://example.com/1", "k", webhook), wish("http://example.com/new", "", webhook)}); !errors.Is(r[0].Err, ErrRestoring) || !errors.Is(r[1].Err, ErrRestoring) {
			t.Errorf("subscribe to half a cluster: %v, %v", r[0].Err, r[1].Err)
		}
	}
	defer func() { shut(t, fresh) }()
	if err := fresh.Backup(ctx, io.Discard, "test"); !errors.Is(err, ErrRestoring) {
		t.Errorf("a backup meanwhile: %v", err)
	}
	if _, err := fresh.Restore(ctx, bytes.NewReader(backupOf(t, one))); !errors.Is(err, ErrRestoring) {
		t.Errorf("restore of another backup: %v", err)
	}
	if _, gained := told.counts(); gained > 0 {
		t.Errorf("told of %d ranges that have a part of a backup", gained)
	}
	if _, err := fresh.Restore(ctx, bytes.NewReader(file)); err != nil {
		t.Fatal(err)
	}
	sameHoldings(t, holdings(t, fresh.View()), want)
	told.await(t, config.Ranges)
}

// TestRestoreWithoutSpace: a node with a full disk refuses before any range waits for the
// backup.
func TestRestoreWithoutSpace(t *testing.T) {
	t.Parallel()
	one := open(t, testConfig(t))
	settled(t, one)
	file := backupOf(t, one)
	fresh := open(t, testConfig(t))
	fresh.volume = roomy(t, 12)
	_, err := fresh.Restore(context.Background(), bytes.NewReader(file))
	wantError(t, err, ErrNoSpace)
	fresh.volume = nil
	subscribe(t, fresh, wish("http://example.com/", "", stream))
}

// TestRestoreOfNewer: a cluster whose state machine is of an older version than a backup's
// refuses it before any range waits for it.
func TestRestoreOfNewer(t *testing.T) {
	t.Parallel()
	one := open(t, testConfig(t))
	settled(t, one)
	file, config := backupOf(t, one), testConfig(t)
	config.versions = tables.Versions{Oldest: oldestVersion, Newest: newestVersion - 1}
	older := open(t, config)
	_, err := older.Restore(context.Background(), bytes.NewReader(file))
	wantError(t, err, ErrRefused)
	subscribe(t, older, wish("http://example.com/", "", stream))
	same := open(t, testConfig(t))
	if _, err := same.Restore(context.Background(), bytes.NewReader(backupOf(t, older))); err != nil {
		t.Errorf("restore of an older one: %v", err)
	}
}

// TestBackupFailedRead: a read that fails does not make the file one that cannot be used.
func TestBackupFailedRead(t *testing.T) {
	t.Parallel()
	one := open(t, testConfig(t))
	settled(t, one)
	file := backupOf(t, one)
	for _, n := range []int{0, 3, 30, len(file) / 3, len(file) / 2, len(file) - 1, len(file)} {
		_, err := backup.Check(io.MultiReader(bytes.NewReader(file[:n]), iotest.ErrReader(io.ErrClosedPipe)), nil)
		if !errors.Is(err, io.ErrClosedPipe) || errors.Is(err, backup.ErrFile) {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
}

// TestBackupBesideRestore: whichever node is asked for a backup while one is restored says so.
func TestBackupBesideRestore(t *testing.T) {
	t.Parallel()
	w := newTown(t, 3, 3, nil)
	first := w.nodes[0].store
	begin := &restoring{b: first.backups, id: bytes.Repeat([]byte{1}, 16)}
	if err := begin.begin(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, n := range w.nodes {
		if err := n.store.Backup(context.Background(), io.Discard, "test"); !errors.Is(err, ErrRestoring) {
			t.Errorf("at %s: %v", n.name, err)
		}
	}
}

// TestRestoreIntoUsed: a cluster that has, or had, a subscription refuses a backup, and
// goes on as before.
func TestRestoreIntoUsed(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	one := open(t, testConfig(t))
	settled(t, one)
	file := backupOf(t, one)
	used := open(t, testConfig(t))
	made := subscribe(t, used, wish("http://example.com/mine", "", webhook))
	before := dump(t, used.db)
	if _, err := used.Restore(ctx, bytes.NewReader(file)); !errors.Is(err, ErrNotFresh) {
		t.Errorf("restore into a cluster with a subscription: %v", err)
	}
	if err := used.Unsubscribe(ctx, made.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := used.Restore(ctx, bytes.NewReader(file)); !errors.Is(err, ErrNotFresh) {
		t.Errorf("restore into a cluster that had one: %v", err)
	}
	subscribe(t, used, wish("http://example.com/mine", "", webhook))
	if after := dump(t, used.db); len(after) != len(before) {
		t.Errorf("%d records, before the refusals %d", len(after), len(before))
	}
}

// TestRestoreCutInBegin: a restore that was cut while its ranges began is called off when
// a range cannot take it: because another backup has come first there, or a subscription.
func TestRestoreCutInBegin(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	one := open(t, testConfig(t))
	settled(t, one)
	file, later := backupOf(t, one), backupOf(t, one)
	fresh := open(t, testConfig(t))
	begin := func(file []byte, n int) {
		t.Helper()
		in, err := backup.NewReader(bytes.NewReader(file), nil)
		if err != nil {
			t.Fatal(err)
		}
		r := &restoring{b: fresh.backups, id: in.ID()}
		at := fresh.backups.inOrder()[n]
		if err := r.do(ctx, at, &wire.Restore{Step: &wire.Restore_Begin{Begin: bucketsOf(at)}}); err != nil {
			t.Fatal(err)
		}
	}
	restore := func(file []byte, want error) {
		t.Helper()
		if _, err := fresh.Restore(ctx, bytes.NewReader(file)); !errors.Is(err, want) {
			t.Errorf("restore: %v, want %v", err, want)
		}
	}
	begin(file, 1)
	begin(later, 2)
	restore(file, ErrRestoring) // what it had begun is undone
	begin(later, 1)
	restore(file, ErrRestoring)
	restore(later[:len(later)/2], backup.ErrFile)
	restore(file, ErrRestoring)
	restore(later, nil)

	fresh = open(t, testConfig(t))
	begin(file, 1)
	subscribeIn(t, fresh, 2)
	restore(file, ErrNotFresh)
	subscribeIn(t, fresh, 1)
}

// subscribeIn subscribes to a channel of the nth range.
func subscribeIn(t *testing.T, s *Store, n int) {
	t.Helper()
	for i := 0; ; i++ {
		if url := fmt.Sprint("http://example.com/in", i); s.backups.inOrder()[n].Has(channel.IDOf(url).Bucket()) {
			subscribe(t, s, wish(url, "", stream))
			return
		}
	}
}

// TestRestoreTwoAtOnce: of two restores at a time, one is done.
func TestRestoreTwoAtOnce(t *testing.T) {
	t.Parallel()
	one := open(t, testConfig(t))
	settled(t, one)
	fresh := open(t, testConfig(t))
	ended := make(chan error)
	for range 2 {
		file := backupOf(t, one)
		go func() {
			_, err := fresh.Restore(context.Background(), bytes.NewReader(file))
			ended <- err
		}()
	}
	first, second := <-ended, <-ended
	if (first == nil) == (second == nil) || !refuses(cmp.Or(first, second)) {
		t.Errorf("the restores ended with %v and %v", first, second)
	}
}

// TestBackupDamaged: a file that is cut anywhere, or has one bit turned, is refused.
func TestBackupDamaged(t *testing.T) {
	t.Parallel()
	one := open(t, testConfig(t))
	settled(t, one)
	file := backupOf(t, one)
	if summary, err := backup.Check(bytes.NewReader(file), nil); err != nil || summary.Channels != 40 || summary.Cluster != one.Cluster() {
		t.Fatalf("the whole file: %+v, %v", summary, err)
	}
	refused := func(what string, damaged []byte) {
		t.Helper()
		if _, err := backup.Check(bytes.NewReader(damaged), nil); !errors.Is(err, backup.ErrFile) {
			t.Errorf("%s: %v", what, err)
		}
	}
	step := max(len(file)/500, 1)
	for cut := 0; cut < len(file); cut += step {
		refused(fmt.Sprintf("cut at %d of %d", cut, len(file)), file[:cut])
	}
	for cut := max(len(file)-64, 0); cut < len(file); cut++ {
		refused(fmt.Sprintf("cut at %d of %d", cut, len(file)), file[:cut])
	}
	refused("with a tail", append(bytes.Clone(file), 0))
	refused("twice", append(bytes.Clone(file), file...))
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for range 1000 {
		damaged := bytes.Clone(file)
		at := random.IntN(len(file))
		damaged[at] ^= 1 << random.IntN(8)
		refused(fmt.Sprintf("flipped at %d", at), damaged)
	}
}

// TestBackupWhileWriting: what was acknowledged before a backup begins is in it, and all
// that is in it is whole.
func TestBackupWhileWriting(t *testing.T) {
	t.Parallel()
	one := open(t, testConfig(t))
	var mu sync.Mutex
	acknowledged := make(map[string]bool)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var writing sync.WaitGroup
	for worker := range 4 {
		writing.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				made := one.Subscribe(context.Background(), []NewSubscription{wish(fmt.Sprintf("http://example.com/%d/%d", worker, i%200), fmt.Sprint(worker, " ", i), webhook)})[0]
				if made.Err != nil {
					t.Error(made.Err)
					return
				}
				mu.Lock()
				acknowledged[made.ID] = true
				mu.Unlock()
				if c, err := one.Channel(made.Channel); err == nil && c.Version < 4 {
					_ = one.Commit(context.Background(), nextCommit(c)) // of a version that another worker may have made
				}
			}
		})
	}
	var before []string
	for range 5 {
		eventually(t, "backup beside writes", func() error {
			mu.Lock()
			defer mu.Unlock()
			if len(acknowledged) == len(before) {
				return errors.New("nothing more was acknowledged")
			}
			before = slices.Collect(maps.Keys(acknowledged))
			return nil
		})
		file := backupOf(t, one)
		other := open(t, testConfig(t))
		if _, err := other.Restore(context.Background(), bytes.NewReader(file)); err != nil {
			t.Fatal(err)
		}
		got := holdings(t, other.View()) // reads every update and every channel of a subscription
		for _, id := range before {
			if got["subscription "+id] == "" {
				t.Errorf("subscription %s was acknowledged before, and is not in the backup", id)
			}
		}
	}
	stop()
	writing.Wait()
}

// TestBackupBrokenOff: the file of a backup that could not be finished says why.
func TestBackupBrokenOff(t *testing.T) {
	t.Parallel()
	one := open(t, testConfig(t))
	settled(t, one)
	ctx, cancel := context.WithCancelCause(context.Background())
	var file bytes.Buffer
	to := writerFunc(func(p []byte) (int, error) {
		if file.Len() > 200 {
			cancel(errors.New("the operator went home"))
		}
		return file.Write(p)
	})
	if err := one.Backup(ctx, to, "test"); err == nil {
		t.Error("a backup that was called off has no error")
	}
	if _, err := backup.Check(&file, nil); !errors.Is(err, backup.ErrFile) || !bytes.Contains([]byte(err.Error()), []byte("went home")) {
		t.Errorf("its file: %v", err)
	}
}

// TestBackupOfMoved: a replica that leaves its node once it was confirmed to lead, before it
// is read, makes no backup without its range.
func TestBackupOfMoved(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	one := open(t, testConfig(t))
	settled(t, one)
	g := one.groups()[0]
	copied := func() error {
		stream, err := one.copyHere(ctx, g)
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		w, err := backup.NewWriter(io.Discard, &wire.BackupHeader{Cluster: make([]byte, 16), Ranges: 4})
		if err != nil {
			t.Fatal(err)
		}
		return w.Range(g.rng(), stream, day0)
	}
	if err := copied(); err != nil {
		t.Errorf("one that stays: %v", err)
	}
	if err := one.state.Drop(g.rng()); err != nil {
		t.Fatal(err)
	}
	if err := copied(); !errors.Is(err, ErrUnavailable) {
		t.Errorf("one that has left: %v", err)
	}
}

// TestRestoreLarge: updates as large as a command may be come back, whatever stands beside
// them.
func TestRestoreLarge(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	one := open(t, testConfig(t))
	for i := range 8 {
		made := subscribe(t, one, wish(fmt.Sprintf("http://example.com/%d", i), "", webhook))
		grow(t, one, made.Channel, 1)
		for _, less := range []int{maxCommand - restorePiece + 1<<10, 0} { // a piece begins, and a large one follows
			c, err := one.Channel(made.Channel)
			if err != nil {
				t.Fatal(err)
			}
			large := nextCommit(c)
			large.Hash, large.Judge, large.Seen = [16]byte{}, nil, nil
			for err = ErrTooLarge; errors.Is(err, ErrTooLarge); less++ {
				large.Update = make([]byte, maxCommand-less)
				err = one.Commit(ctx, large)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	want, file := holdings(t, one.View()), backupOf(t, one)
	fresh := open(t, testConfig(t))
	if _, err := fresh.Restore(ctx, bytes.NewReader(file)); err != nil {
		t.Fatal(err)
	}
	if got := holdings(t, fresh.View()); len(got) != len(want) {
		t.Errorf("%d things, want %d", len(got), len(want))
	}
	for what, is := range holdings(t, fresh.View()) {
		if want[what] != is {
			t.Errorf("%s is another", what)
		}
	}
}
