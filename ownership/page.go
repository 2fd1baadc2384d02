package ownership

import (
	"encoding/json"
	"fmt"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// sincePage is what the leader of a range tells of its updates behind a cursor.
type sincePage struct {
	channel.Kept
	Chosen bool `json:",omitempty"` // of the channels that were asked for, which nodes before 2026-11-26 do not know
}

// The forms of a page between nodes. JSON is what an older program asks for, and answers
// whatever it is asked; it takes several times as long.
const (
	formJSON  = 0
	formProto = 1 // wire.Page, which begins with no "{"
)

func (p sincePage) encode(form int) ([]byte, error) {
	if form == formJSON {
		return json.Marshal(p)
	}
	page := &wire.Page{Closed: p.Closed, More: p.More, Chosen: p.Chosen, Updates: make([]*wire.Page_Update, len(p.Updates))}
	updates := make([]wire.Page_Update, len(p.Updates))
	for i, u := range p.Updates {
		to := &updates[i]
		to.Channel, to.Url, to.Incarnation, to.Version = u.Channel[:], u.URL, u.Incarnation, u.Version
		to.Stamp, to.AtUs, to.Data, to.Gone = u.Stamp, wire.Micros(u.At), u.Data, u.Gone
		page.Updates[i] = to
	}
	for _, l := range p.Lost {
		page.Lost = append(page.Lost, &wire.Page_Lost{Channel: l.Channel[:], Oldest: l.Oldest, Stamp: l.Stamp})
	}
	return proto.Marshal(page)
}

// decodePage is the inverse of encode, for either form.
func decodePage(content []byte) (p sincePage, err error) {
	if len(content) > 0 && content[0] == '{' {
		err = json.Unmarshal(content, &p)
	} else {
		p, err = decodeProtoPage(content)
	}
	if err == nil && p.More && len(p.Updates) == 0 {
		err = fmt.Errorf("more is to come after nothing")
	}
	return p, err
}

func decodeProtoPage(content []byte) (sincePage, error) {
	page := &wire.Page{}
	if err := proto.Unmarshal(content, page); err != nil {
		return sincePage{}, err
	}
	p := sincePage{Chosen: page.Chosen, Kept: channel.Kept{Closed: page.Closed, More: page.More, Updates: make([]channel.Update, len(page.Updates))}}
	for i, u := range page.Updates {
		to := &p.Updates[i]
		if len(u.Channel) != channel.IDLen {
			return sincePage{}, fmt.Errorf("channel ID of %d bytes", len(u.Channel))
		}
		*to = channel.Update{
			Channel: channel.ID(u.Channel), URL: u.Url, Incarnation: u.Incarnation, Version: u.Version,
			Stamp: u.Stamp, At: wire.Time(u.AtUs), Data: u.Data, Gone: u.Gone,
		}
	}
	for _, l := range page.Lost {
		if len(l.Channel) != channel.IDLen {
			return sincePage{}, fmt.Errorf("channel ID of %d bytes", len(l.Channel))
		}
		p.Lost = append(p.Lost, channel.Lost{Channel: channel.ID(l.Channel), Oldest: l.Oldest, Stamp: l.Stamp})
	}
	return p, nil
}
