package ownership

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

func samplePage() sincePage {
	return sincePage{Chosen: true, Kept: channel.Kept{Closed: 1 << 60, More: true, Lost: []channel.Lost{{Channel: channel.ID{19: 4}, Oldest: 17, Stamp: 1 << 58}}, Updates: []channel.Update{
		{Channel: channel.ID{1, 2, 19: 3}, URL: "http://a.example/ü", Incarnation: 4, Version: 5, Stamp: 1 << 59, At: time.UnixMicro(1_795_000_000_123_456).UTC(), Data: []byte{0, 1, '{', 255}},
		{Channel: channel.ID{7}, URL: "http://b.example/", Incarnation: 1, Version: 9, Stamp: 1<<59 + 1, At: time.UnixMicro(1).UTC(), Gone: true},
	}}}
}

// Programs of either age understand each other: what was asked for in one form is read as
// what was sent.
func TestPageForms(t *testing.T) {
	for name, page := range map[string]sincePage{"full": samplePage(), "quiet": {Kept: channel.Kept{Updates: []channel.Update{}, Closed: 7}}, "nothing": {Kept: channel.Kept{Updates: []channel.Update{}}}} {
		for _, form := range []int{formJSON, formProto} {
			content, err := page.encode(form)
			if err != nil {
				t.Fatal(name, form, err)
			}
			if isJSON := len(content) > 0 && content[0] == '{'; isJSON != (form == formJSON) {
				t.Errorf("%s in form %d begins %q", name, form, content[:1])
			}
			if got, err := decodePage(content); err != nil || !reflect.DeepEqual(got, page) {
				t.Errorf("%s in form %d: %+v, %v; want %+v", name, form, got, err, page)
			}
		}
	}
}

// A page that a stream could not go on from is refused.
func TestBadPages(t *testing.T) {
	whole, err := samplePage().encode(formProto)
	if err != nil {
		t.Fatal(err)
	}
	short, err := proto.Marshal(&wire.Page{Updates: []*wire.Page_Update{{Channel: []byte{1}}}})
	if err != nil {
		t.Fatal(err)
	}
	lost, err := proto.Marshal(&wire.Page{Lost: []*wire.Page_Lost{{Channel: []byte{1}}}})
	if err != nil {
		t.Fatal(err)
	}
	hollow, err := proto.Marshal(&wire.Page{More: true})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"cut": whole[:len(whole)-4], "channel ID of a byte": short, "lost of a byte": lost, "more after nothing": hollow,
		"the same in JSON": []byte(`{"More":true}`), "cut JSON": []byte(`{"Updates":[`),
	} {
		if page, err := decodePage(content); err == nil {
			t.Errorf("%s: taken as %+v", name, page)
		}
	}
}

// FuzzPage: whatever another node sends is refused, or read as a page that is the same when
// it is sent on.
func FuzzPage(f *testing.F) {
	for _, form := range []int{formJSON, formProto} {
		content, err := samplePage().encode(form)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		page, err := decodePage(content)
		if err != nil {
			return
		}
		if page.More && len(page.Updates) == 0 {
			t.Fatal("more after nothing")
		}
		for i := range page.Updates { // as a state has them
			u := &page.Updates[i]
			u.At, u.Patch = wire.Time(wire.Micros(u.At)), nil
			if len(u.Data) == 0 {
				u.Data = nil
			}
		}
		sent, err := page.encode(formProto)
		if err != nil {
			return // a URL that is no UTF-8
		}
		again, err := decodePage(sent)
		if err != nil || len(again.Updates) != len(page.Updates) || len(page.Updates) > 0 && !reflect.DeepEqual(again.Updates, page.Updates) || again.Closed != page.Closed || again.More != page.More || again.Chosen != page.Chosen || !slices.Equal(again.Lost, page.Lost) {
			t.Errorf("read again as %+v, %v; was %+v", again, err, page)
		}
	})
}
