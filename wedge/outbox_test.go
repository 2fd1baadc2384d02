package wedge

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/wedge/internal/wire"
)

func TestFit(t *testing.T) {
	order := engine.Order{URL: strings.Repeat("u", 4<<10), MovedTo: strings.Repeat("m", 4<<10)}
	patch := func(bytes int) any { return engine.News{Patch: make([]byte, bytes)} }
	for _, test := range []struct {
		name  string
		items []any
		want  int
	}{
		{"none", nil, 0},
		{"small ones", slices.Repeat([]any{channel.ID{}}, most+1), most},
		{"long URLs", slices.Repeat([]any{order}, most), 128},
		{"patches", slices.Repeat([]any{patch(mostBytes / 4)}, 9), 4},
		{"the largest patch", []any{patch(engine.MaxPatch), patch(1)}, 1},
		{"one that is larger", []any{patch(2 * mostBytes), patch(1)}, 1},
		{"behind a small one", []any{channel.ID{}, patch(mostBytes), patch(1)}, 2},
	} {
		if got := fit(test.items); got != test.want {
			t.Errorf("%s: %d of %d items fit, want %d", test.name, got, len(test.items), test.want)
		}
	}
}

// News with large patches reach a poller in their order, however many wait for it.
func TestManyPatchesReachPollers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const versions = 40
		w, order := wide(t, 2, 0)
		owner, other := w.nodes[0], w.nodes[1]
		w.cutBetween(owner, other, true)
		owner.owner.mu.Lock()
		for i := range uint64(versions) {
			news := engine.News{Channel: order.Channel, Incarnation: 1, Version: i + 1, Patch: make([]byte, engine.MaxPatch)}
			owner.owner.tellAll(owner.owner.mu.led.At(order.Channel.Bucket()), &news, []string{other.name})
		}
		owner.owner.mu.Unlock()
		time.Sleep(5 * time.Second)
		w.cutBetween(owner, other, false)
		time.Sleep(5 * time.Second)
		told := other.engine.learned()
		if len(told) != versions {
			t.Fatalf("%d versions were told, want %d", len(told), versions)
		}
		for i, news := range told {
			if news.Version != uint64(i+1) || len(news.Patch) != engine.MaxPatch {
				t.Errorf("news %d are of version %d, with a patch of %d bytes", i, news.Version, len(news.Patch))
			}
		}
	})
}

// A batch that a poller does not take is logged after a minute, and once a minute from then on.
func TestDeliveryFailureIsLogged(t *testing.T) {
	for _, test := range []struct {
		after       time.Duration
		least, most int
	}{{50 * time.Second, 0, 0}, {10 * time.Minute, 8, 10}} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			config := Config{
				Call:   func(context.Context, string, []byte) ([]byte, error) { return nil, errCut },
				Logger: slog.New(slog.NewTextHandler(&log, nil)),
			}.withDefaults()
			config.metrics = newMetrics(nil)
			b := newOutbox(t.Context(), "c", config, func(channel.Range) {})
			go b.run()
			b.begin(&lead{Range: channel.Range{ID: 3, To: 9}, term: 5})
			time.Sleep(test.after)
			b.stop()
			synctest.Wait()
			if lines := strings.Count(log.String(), errCut.Error()); lines < test.least || lines > test.most {
				t.Errorf("%d lines after %v, want %d to %d:\n%s", lines, test.after, test.least, test.most, log.String())
			}
		})
	}
}

// An order to come to poll a channel that the node was not told before all is ordered again is
// told then: the owner takes the node for the channel's poller since.
func TestUntoldOrder(t *testing.T) {
	r := channel.Range{ID: 3, To: 9}
	l := &lead{Range: r, term: 5}
	b := newOutbox(t.Context(), "c", Config{}, func(channel.Range) {})
	defer b.stop()
	begin := func() {
		l.begins++
		b.begin(l)
	}
	until := time.Unix(1, 0)
	come := func(n byte) engine.Order {
		return engine.Order{Channel: channel.ID{n}, Holder: fmt.Sprint("holder", n), Others: until}
	}
	const answered, under, waits, dropped, later = 1, 2, 3, 4, 5
	begin()
	b.add(r, []any{come(answered)})
	s, _ := b.next()
	b.arrived(s)
	b.add(r, []any{come(under)})
	b.next()
	b.add(r, []any{come(waits), come(dropped), channel.ID{dropped}, come(later)})
	again := engine.Order{Channel: channel.ID{later}, Holder: "another"}
	for range 2 { // the second time nothing of the first was sent
		begin()
		for n := byte(answered); n < later; n++ {
			b.add(r, []any{engine.Order{Channel: channel.ID{n}}})
		}
		b.add(r, []any{again})
	}
	begin()
	b.add(r, []any{engine.Order{Channel: channel.ID{under}}, engine.Pace{Channel: channel.ID{waits}}, again})
	_, out := b.next()
	want := []any{come(under), engine.Pace{Channel: channel.ID{waits}}, again}
	if !reflect.DeepEqual(out.items, want) {
		t.Errorf("told %+v, want %+v", out.items, want)
	}
	begin()
	b.add(r, []any{engine.Order{Channel: channel.ID{answered}}, engine.Order{Channel: channel.ID{waits}}, engine.Order{Channel: channel.ID{dropped}}})
	_, out = b.next()
	want = []any{engine.Order{Channel: channel.ID{answered}}, come(waits), engine.Order{Channel: channel.ID{dropped}}}
	if !reflect.DeepEqual(out.items, want) {
		t.Errorf("told %+v, want %+v", out.items, want)
	}
	b.complete(r)
	begin()
	b.add(r, []any{engine.Order{Channel: channel.ID{under}}})
	if _, out = b.next(); !reflect.DeepEqual(out.items, []any{engine.Order{Channel: channel.ID{under}}}) {
		t.Errorf("told %+v of a channel that was not ordered any more", out.items)
	}
}

// What a node that has lost its orders was not told while all was being ordered it is told when it
// is ordered again.
func TestUntoldOrderOfLost(t *testing.T) {
	r := channel.Range{ID: 3, To: 9}
	l := &lead{Range: r, term: 5, begins: 1}
	b := newOutbox(t.Context(), "c", Config{}, func(channel.Range) {})
	defer b.stop()
	var come, bare []any
	for n := range byte(4) {
		come = append(come, engine.Order{Channel: channel.ID{n}, Holder: "before"})
		bare = append(bare, engine.Order{Channel: channel.ID{n}})
	}
	b.begin(l)
	b.add(r, come[:1])
	s, _ := b.next()
	b.add(r, come[1:2])
	b.lose(s)
	b.add(r, come[2:])
	b.add(r, []any{channel.ID{3}})
	b.complete(r)
	l.begins++
	b.begin(l)
	b.add(r, bare)
	want := append(come[:3:3], bare[3])
	if _, out := b.next(); !reflect.DeepEqual(out.items, want) {
		t.Errorf("told %+v, want %+v", out.items, want)
	}
}

// A reply to what was sent in an earlier session of a range says nothing of the one that has begun
// meanwhile.
func TestReplyToEarlierSession(t *testing.T) {
	r := channel.Range{ID: 3, To: 9}
	for _, test := range []struct {
		name   string
		leases bool
		reply  *wire.Reply
	}{
		{"a batch is of an older term", false, &wire.Reply{Older: []uint32{r.ID}}},
		{"a batch is behind one that is lost", false, &wire.Reply{Again: []uint32{r.ID}}},
		{"a lease is of an older term", true, &wire.Reply{Older: []uint32{r.ID}}},
		{"a lease is of orders that are lost", true, &wire.Reply{Again: []uint32{r.ID}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked, replies := make(chan *wire.Request, 1), make(chan *wire.Reply)
				call := func(_ context.Context, _ string, sent []byte) ([]byte, error) {
					request := new(wire.Request)
					if err := proto.Unmarshal(sent, request); err != nil {
						return nil, err
					}
					asked <- request
					return proto.Marshal(<-replies)
				}
				config := Config{Call: call}.withDefaults()
				config.metrics = newMetrics(nil)
				again := 0
				b := newOutbox(t.Context(), "c", config, func(channel.Range) { again++ })
				defer b.stop()
				go b.run()
				b.begin(&lead{Range: r, term: 5})
				<-asked
				if test.leases {
					replies <- new(wire.Reply)
					b.renew()
					<-asked
				}
				b.begin(&lead{Range: r, term: 7})
				replies <- test.reply
				select {
				case request := <-asked:
					if got := request.GetBatch(); got.GetSession().GetTerm() != 7 || !got.GetBegin() || again != 0 {
						t.Errorf("%v is sent, and all is ordered again %d times", request, again)
					}
				case <-time.After(time.Minute):
					t.Fatal("nothing is sent of the later term")
				}
				replies <- &wire.Reply{Again: []uint32{r.ID}}
				synctest.Wait()
				if again != 1 {
					t.Errorf("all is ordered again %d times after a reply to the later term, want once", again)
				}
			})
		})
	}
}

// Leases are renewed before the batches that wait, of the sessions that have begun: where all
// ranges are ordered again, those that were ordered first would lapse before the last are.
func TestLeasesGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent []string
		var b *outbox
		config := Config{Call: func(_ context.Context, _ string, bytes []byte) ([]byte, error) {
			request := new(wire.Request)
			if err := proto.Unmarshal(bytes, request); err != nil {
				return nil, err
			}
			reply := new(wire.Reply)
			if leases := request.GetLeases(); leases != nil {
				sent = append(sent, fmt.Sprint("leases of ", len(leases.Sessions)))
			} else {
				sent = append(sent, "batch")
			}
			if len(sent) == 1 { // while the first batch of one range is on its way
				b.renew()
			}
			return proto.Marshal(reply)
		}}.withDefaults()
		config.metrics = newMetrics(nil)
		b = newOutbox(t.Context(), "c", config, func(r channel.Range) { t.Errorf("range %d is to be ordered again", r.ID) })
		defer b.stop()
		for id := range uint32(2) {
			r := channel.Range{ID: id, From: channel.Bucket(id), To: channel.Bucket(id)}
			b.begin(&lead{Range: r, term: 5})
			b.add(r, slices.Repeat([]any{channel.ID{}}, 2*most))
		}
		go b.run()
		time.Sleep(time.Second)
		synctest.Wait()
		want := []string{"batch", "leases of 1", "batch", "batch", "batch"}
		if !slices.Equal(sent, want) {
			t.Errorf("%q are sent, want %q", sent, want)
		}
	})
}
