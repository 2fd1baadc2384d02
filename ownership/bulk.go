package ownership

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Subscriptions and their keys, of which there are hundreds of thousands, are encoded
// and decoded here by hand: generated code takes several times as long. The bytes are
// those of wire.proto, which TestBulkCodec compares.

// subscribeItem is a wire.Subscribe_Item. When it was decoded, its strings share
// the memory of the log entry: what is kept is cloned.
type subscribeItem struct {
	channel, url, sinkType, sinkURL, sinkSecret, key, digest string
}

// once says that the item's key stands for its channel and sink: the item is subscribed
// unless the subscription that the key made still exists. A version that does not know
// this refuses a key without a digest.
func (i *subscribeItem) once() bool { return i.key != "" && i.digest == "" }

// claimItem is a wire.Claim_Item.
type claimItem struct{ key, digest string }

// The numbers of fields in wire.proto that are written by hand.
const (
	fieldCommands  protowire.Number = 1  // Entry.commands
	fieldTime      protowire.Number = 1  // Command.time_us
	fieldClaim     protowire.Number = 2  // Command.claim
	fieldSubscribe protowire.Number = 3  // Command.subscribe
	fieldLast      protowire.Number = 13 // the last of Command.change
	fieldItems     protowire.Number = 1  // Claim.items, Subscribe.items
)

// itemFields is how many fields the larger of the items has, numbered from 1.
const itemFields = 7

func (i *claimItem) fields() [itemFields]*string { return [itemFields]*string{&i.key, &i.digest} }

func (i *subscribeItem) fields() [itemFields]*string {
	return [...]*string{&i.channel, &i.url, &i.sinkType, &i.sinkURL, &i.sinkSecret, &i.key, &i.digest}
}

// bulkItem is what a pointer to an Item does.
type bulkItem[Item any] interface {
	*Item
	fields() [itemFields]*string
}

// encodeClaim is a wire.Command without its time.
func encodeClaim(items []claimItem) []byte { return encodeItems(fieldClaim, items) }

// encodeSubscribe is a wire.Command without its time.
func encodeSubscribe(items []subscribeItem) []byte { return encodeItems(fieldSubscribe, items) }

func encodeItems[Item any, P bulkItem[Item]](change protowire.Number, items []Item) []byte {
	size := 0
	for i := range items {
		size += protowire.SizeTag(fieldItems) + protowire.SizeBytes(sizeItem(P(&items[i]).fields()))
	}
	b := make([]byte, 0, protowire.SizeTag(change)+protowire.SizeBytes(size))
	b = protowire.AppendTag(b, change, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(size))
	for i := range items {
		fields := P(&items[i]).fields()
		b = protowire.AppendTag(b, fieldItems, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(sizeItem(fields)))
		for j, field := range fields {
			if field != nil {
				b = appendText(b, protowire.Number(j+1), *field)
			}
		}
	}
	return b
}

func sizeItem(fields [itemFields]*string) (size int) {
	for i, field := range fields {
		if field != nil && *field != "" {
			size += protowire.SizeTag(protowire.Number(i+1)) + protowire.SizeBytes(len(*field))
		}
	}
	return size
}

// appendText appends a field of text or bytes; an empty one is absent.
func appendText(b []byte, number protowire.Number, text string) []byte {
	if text == "" {
		return b
	}
	return protowire.AppendString(protowire.AppendTag(b, number, protowire.BytesType), text)
}

// appendNumber appends a field that is a number; 0 is absent.
func appendNumber(b []byte, number protowire.Number, n uint64) []byte {
	if n == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), n)
}

// command is a decoded wire.Command. Its change is a []claimItem, a
// []subscribeItem, or what a wire.Command has.
type command struct {
	timeUS uint64
	change any
}

// decodeEntry reads an entry's commands. An error means damage, or a command of
// a newer version: either way the replica cannot go on.
func decodeEntry(data []byte) (commands []command, err error) {
	m := message{data, string(data)}
	err = m.each(func(number protowire.Number, value message) error {
		if number != fieldCommands {
			return unknownField("entry", number)
		}
		c, err := decodeCommand(value)
		if err == nil && c.change == nil {
			err = fmt.Errorf("command %d of a log entry is of a kind that this version does not know", len(commands))
		}
		commands = append(commands, c)
		return err
	}, nil)
	return commands, err
}

// unknownField is the error for what a newer version has written, or for damage. It
// cannot be ignored: replicas of two versions would come to different states.
func unknownField(in string, number protowire.Number) error {
	return fmt.Errorf("field %d of %s in a log entry is not known to this version", number, in)
}

// decodeCommand reads a command, whose change is nil if it is not known here. A command
// of several changes is an error: some of them might be unknown.
func decodeCommand(m message) (c command, err error) {
	changes := 0
	err = m.each(func(number protowire.Number, value message) (err error) {
		if number < fieldClaim || number > fieldLast {
			return unknownField("a command", number)
		}
		if changes++; changes > 1 {
			return disk.Corrupt("log entry: a command of several changes")
		}
		switch number {
		case fieldClaim:
			c.change, err = decodeItems[claimItem](value)
		case fieldSubscribe:
			c.change, err = decodeItems[subscribeItem](value)
		default:
			c.change, err = decodeChange(m)
		}
		return err
	}, func(number protowire.Number, n uint64) error {
		if number != fieldTime {
			return unknownField("a command", number)
		}
		c.timeUS = n
		return nil
	})
	return c, err
}

// decodeChange reads what is not decoded by hand.
func decodeChange(m message) (any, error) {
	whole := &wire.Command{}
	if err := proto.Unmarshal(m.data, whole); err != nil {
		return nil, disk.Corrupt("log entry: %w", err)
	}
	return whole.Change, wire.Strict(whole)
}

func decodeItems[Item any, P bulkItem[Item]](m message) ([]Item, error) {
	items := make([]Item, 0, 1+len(m.data)/256)
	err := m.each(func(number protowire.Number, value message) error {
		if number != fieldItems {
			return unknownField("a list", number)
		}
		var item Item
		fields := P(&item).fields()
		err := value.each(func(number protowire.Number, value message) error {
			if number > itemFields || fields[number-1] == nil {
				return unknownField("an item", number)
			}
			*fields[number-1] = value.text
			return nil
		}, nil)
		items = append(items, item)
		return err
	}, nil)
	return items, err
}

// message is encoded protobuf, as bytes and as text: parts of a text are free.
type message struct {
	data []byte
	text string
}

// each visits the fields, in order. A field that is neither bytes nor a varint, or that
// is one where number is nil, is not known.
func (m message) each(bytes func(protowire.Number, message) error, number func(protowire.Number, uint64) error) error {
	for at := 0; at < len(m.data); {
		field, kind, size := protowire.ConsumeTag(m.data[at:])
		if size < 0 {
			return disk.Corrupt("log entry: %w", protowire.ParseError(size))
		}
		at += size
		size = protowire.ConsumeFieldValue(field, kind, m.data[at:])
		if size < 0 {
			return disk.Corrupt("log entry: %w", protowire.ParseError(size))
		}
		switch {
		case kind == protowire.BytesType:
			content, _ := protowire.ConsumeBytes(m.data[at:])
			from := at + size - len(content)
			if err := bytes(field, message{content, m.text[from : at+size]}); err != nil {
				return err
			}
		case kind == protowire.VarintType && number != nil:
			n, _ := protowire.ConsumeVarint(m.data[at:])
			if err := number(field, n); err != nil {
				return err
			}
		default:
			return unknownField("a message", field)
		}
		at += size
	}
	return nil
}

// check returns ErrInvalid for what must not be stored.
func (i *subscribeItem) check() error {
	if _, err := textID(i.channel); err != nil {
		return err
	}
	switch {
	case i.url == "" || len(i.url) > channel.MaxURL:
		return fmt.Errorf("%w: URL of %d bytes", ErrInvalid, len(i.url))
	case i.sinkType == "" || len(i.sinkType) > maxSinkType:
		return fmt.Errorf("%w: sink type of %d bytes", ErrInvalid, len(i.sinkType))
	case len(i.sinkURL) > channel.MaxURL || len(i.sinkSecret) > maxSecret:
		return fmt.Errorf("%w: sink URL of %d bytes, secret of %d", ErrInvalid, len(i.sinkURL), len(i.sinkSecret))
	case !utf8.ValidString(i.url), !utf8.ValidString(i.sinkType), !utf8.ValidString(i.sinkURL), !utf8.ValidString(i.sinkSecret):
		return fmt.Errorf("%w: text that is not UTF-8", ErrInvalid)
	case i.once():
		_, err := textID(i.key)
		return err
	case i.key != "":
		return checkKeyed(i.key, i.digest)
	}
	return nil
}

func checkKeyed(key, digest string) error {
	if len(key) != channel.IDLen || len(digest) != digestLen {
		return fmt.Errorf("%w: key of %d bytes, digest of %d", ErrInvalid, len(key), len(digest))
	}
	return nil
}

func textID(text string) (id channel.ID, err error) {
	if copy(id[:], text) != len(text) || len(text) != channel.IDLen {
		return id, fmt.Errorf("%w: ID of %d bytes", ErrInvalid, len(text))
	}
	return id, nil
}

// sink is a copy for keeping.
func (i *subscribeItem) sink() channel.Sink {
	return channel.Sink{Type: strings.Clone(i.sinkType), URL: strings.Clone(i.sinkURL), Secret: strings.Clone(i.sinkSecret)}
}
