package primary

import (
	"encoding/base64"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/ownership"
)

var begin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// seen reports content against a base and fails the test on an error.
func seen(t *testing.T, owner *Owner, minute int, base, core *deltas.Core, version uint64) engine.Answer {
	t.Helper()
	answer, err := owner.Report(t.Context(), engine.Report{
		Channel: feedID, Incarnation: 7, Begun: begin.Add(time.Duration(minute) * time.Minute),
		BaseVersion: version, Base: base, Core: core,
	})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestReportPublishesEveryEntryOnce(t *testing.T) {
	store, owner := worldOf(t, 3)
	one, two := feed(t, "a", "b"), feed(t, "c", "a", "b")

	if got := seen(t, owner, 0, nil, one, 0); got != (engine.Answer{Version: 1, Hash: one.Hash}) {
		t.Fatalf("first content: %+v", got)
	}
	if got := seen(t, owner, 1, one, two, 1); got != (engine.Answer{Version: 2, Hash: two.Hash}) {
		t.Fatalf("new entry: %+v", got)
	}
	if len(store.commits) != 2 || store.commits[0].Update != nil || len(store.commits[0].Seen) < 2 {
		t.Fatalf("commits %+v; want version 1 without update, with the identities of both entries", store.commits)
	}
	update, err := deltas.DecodeUpdate(store.commits[1].Update)
	if err != nil || len(update.Entries.Added) != 1 || update.Entries.Added[0].Title != "c" || update.Diff == "" {
		t.Fatalf("update %+v, %v; want c added, with a diff", update, err)
	}
	if update.DeltaBytes != len(store.commits[1].Patch) {
		t.Errorf("delta_bytes %d, patch of %d", update.DeltaBytes, len(store.commits[1].Patch))
	}
	patched, err := deltas.ApplyDelta(one, store.commits[1].Patch)
	if err != nil || patched.Hash != two.Hash {
		t.Errorf("patch: %v", err)
	}
}

// A node that is the only one to poll makes no patch.
func TestReportAloneMakesNoPatch(t *testing.T) {
	store, owner := world(t)
	one, two := feed(t, "a", "b"), feed(t, "c", "a", "b")
	seen(t, owner, 0, nil, one, 0)
	if got := seen(t, owner, 1, one, two, 1); got != (engine.Answer{Version: 2, Hash: two.Hash}) {
		t.Fatalf("new entry: %+v", got)
	}
	commit := store.commits[1]
	update, err := deltas.DecodeUpdate(commit.Update)
	if err != nil || len(update.Entries.Added) != 1 || update.Diff == "" || update.DeltaBytes != 0 || commit.Patch != nil {
		t.Errorf("update %+v, patch of %d bytes, %v; want c added, with a diff and without a delta", update, len(commit.Patch), err)
	}
	if got := seen(t, owner, 1, one, two, 1); got.Version != 2 || got.Current != nil {
		t.Errorf("stale version: %+v; want no content that cannot be made", got)
	}
}

func TestReportDuplicateCommitsNothing(t *testing.T) {
	store, owner := world(t)
	one := feed(t, "a")
	seen(t, owner, 0, nil, one, 0)
	if got := seen(t, owner, 1, one, one, 1); got.Version != 1 || got.Held {
		t.Errorf("answer %+v", got)
	}
	if len(store.commits) != 1 {
		t.Errorf("%d commits, want 1", len(store.commits))
	}
}

func TestReportStaleBaseIsBroughtUpToDate(t *testing.T) {
	store, owner := worldOf(t, 3)
	one, two, three, four := feed(t, "a"), feed(t, "b", "a"), feed(t, "c", "b", "a"), feed(t, "d", "c", "b", "a")
	seen(t, owner, 0, nil, one, 0)
	seen(t, owner, 1, one, two, 1)
	seen(t, owner, 2, two, three, 2)

	got := seen(t, owner, 3, one, four, 1)
	if got.Version != 3 || got.Hash != three.Hash || got.Held {
		t.Fatalf("stale version: %+v", got)
	}
	if got.Current == nil || got.Current.Hash != three.Hash || string(got.Current.Text) != string(three.Text) {
		t.Errorf("stale version: the answer lacks the content of version 3")
	}
	for _, base := range []*deltas.Core{one, nil} { // wrong content under the version; none at all
		if got := seen(t, owner, 3, base, four, 2); got.Version != 3 || got.Current != nil {
			t.Errorf("unusable base: %+v", got)
		}
	}
	if got := seen(t, owner, 3, one, four, 3); got != (engine.Answer{Version: 3, Hash: three.Hash}) {
		t.Errorf("other content under the current version: %+v", got)
	}
	if len(store.commits) != 3 {
		t.Errorf("%d commits, want 3", len(store.commits))
	}
}

func TestReportWithoutBaseNamesOnlyNewEntries(t *testing.T) {
	store, owner := world(t)
	one, two := feed(t, "a", "b"), feed(t, "c", "a", "b")
	seen(t, owner, 0, nil, one, 0)
	if got := seen(t, owner, 1, nil, two, 1); got.Version != 2 {
		t.Fatalf("answer %+v", got)
	}
	update, err := deltas.DecodeUpdate(store.commits[1].Update)
	if err != nil || len(update.Entries.Added) != 1 || update.Entries.Added[0].Title != "c" {
		t.Errorf("update %+v, %v; want c alone added", update, err)
	}
	if store.commits[1].Patch != nil {
		t.Error("a patch without a base")
	}
}

// Large text without redundancy changes altogether: the patch alone would be more
// than a log entry holds, and the channel would have no second version ever.
func TestReportPublishesWithoutAPatchThatIsTooLarge(t *testing.T) {
	store, owner := worldOf(t, 3)
	one, two := noise(t, 1), noise(t, 2)
	seen(t, owner, 0, nil, one, 0)
	if got := seen(t, owner, 1, one, two, 1); got != (engine.Answer{Version: 2, Hash: two.Hash}) {
		t.Fatalf("answer %+v", got)
	}
	commit := store.commits[1]
	if len(commit.Update) == 0 || len(commit.Update) > engine.MaxPatch || commit.Patch != nil {
		t.Errorf("update of %d bytes, patch of %d; want an update alone", len(commit.Update), len(commit.Patch))
	}
	if got := seen(t, owner, 2, one, two, 1); got.Hash != two.Hash || got.Current != nil {
		t.Errorf("stale version: %+v; want no content that cannot be made", got)
	}
}

// noise is a text of 4 MiB that does not compress to less than three quarters.
func noise(t *testing.T, seed byte) *deltas.Core {
	t.Helper()
	random := make([]byte, 3<<20)
	if _, err := rand.NewChaCha8([32]byte{seed}).Read(random); err != nil {
		t.Fatal(err)
	}
	var body strings.Builder
	for line := range slices.Chunk(random, 48) {
		body.WriteString(base64.StdEncoding.EncodeToString(line) + "\n")
	}
	return core(t, body.String())
}

func TestReportEmptyIsHeldUntilConfirmed(t *testing.T) { // row 32
	store, owner := world(t)
	full, empty := feed(t, "a", "b"), feed(t)
	seen(t, owner, 0, nil, full, 0)
	if got := seen(t, owner, 1, full, empty, 1); got != (engine.Answer{Version: 1, Hash: full.Hash, Held: true}) {
		t.Fatalf("empty: %+v", got)
	}
	if order := ordered(t, owner, feedID); !order.Held {
		t.Errorf("order %+v while a candidate waits", order)
	}
	if got := seen(t, owner, 2, full, nil, 1); got != (engine.Answer{Version: 1, Hash: full.Hash}) {
		t.Fatalf("current again: %+v", got)
	}
	if order := ordered(t, owner, feedID); order.Held {
		t.Errorf("order %+v: nothing waits", order)
	}
	if got := seen(t, owner, 3, full, empty, 1); !got.Held {
		t.Fatalf("empty after the current one: %+v", got)
	}
	if got := seen(t, owner, 1, full, feed(t, "a"), 1); got != (engine.Answer{Version: 1, Hash: full.Hash, Held: true}) {
		t.Fatalf("an older poll, while a candidate waits: %+v", got)
	}
	if got := seen(t, owner, 4, nil, feed(t, "a"), 0); !got.Held || got.Version != 1 {
		t.Fatalf("of another version, while a candidate waits: %+v", got)
	}
	if got := seen(t, owner, 4, full, empty, 1); got.Held || got.Hash != empty.Hash {
		t.Fatalf("confirmed: %+v", got)
	}
	last := store.commits[len(store.commits)-1]
	if last.Update != nil {
		update, err := deltas.DecodeUpdate(last.Update)
		if err != nil || len(update.Entries.Removed) != 0 {
			t.Errorf("update %+v, %v; an empty document removes nothing", update, err)
		}
	}
}

func TestReportGoneOnce(t *testing.T) { // row 22
	store, owner := world(t)
	gone := engine.Report{Channel: feedID, Incarnation: 7, Begun: begin, Gone: true}
	for range 2 {
		if answer, err := owner.Report(t.Context(), gone); err != nil || !answer.Ended {
			t.Fatalf("answer %+v, %v", answer, err)
		}
	}
	if len(store.commits) != 1 || !store.commits[0].Gone || store.commits[0].Version != 0 {
		t.Errorf("commits %+v; want one that says gone", store.commits)
	}
}

func TestReportUnknownChannelEnds(t *testing.T) {
	_, owner := world(t)
	for _, report := range []engine.Report{
		{Channel: feedID, Incarnation: 6, Core: feed(t, "a")},
		{Incarnation: 7, Core: feed(t, "a")},
	} {
		answer, err := owner.Report(t.Context(), report)
		if err != nil || !answer.Ended {
			t.Errorf("answer %+v, %v; want ended", answer, err)
		}
	}
}

func TestReportErrorsAnswerNothing(t *testing.T) {
	store, owner := world(t)
	report := engine.Report{Channel: feedID, Incarnation: 7, Begun: begin, Core: feed(t, "a")}
	store.fail = ownership.ErrUnavailable
	answer, err := owner.Report(t.Context(), report)
	if !errors.Is(err, ownership.ErrUnavailable) || answer != (engine.Answer{}) {
		t.Fatalf("answer %+v, %v", answer, err)
	}
	// A commit that lost against one of unknown outcome is judged again.
	store.fail = ownership.ErrStale
	if answer, err := owner.Report(t.Context(), report); err != nil || answer.Version != 1 {
		t.Errorf("after a stale commit: %+v, %v", answer, err)
	}
}

// ordered is what a poller that starts now is told of a channel.
func ordered(t *testing.T, owner *Owner, id channel.ID) engine.Order {
	t.Helper()
	poller := &orders{ordered: make(map[channel.ID]engine.Order)}
	if err := owner.Start(poller); err != nil {
		t.Fatal(err)
	}
	return poller.ordered[id]
}
