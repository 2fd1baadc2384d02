package state

import (
	"fmt"

	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Subscriptions and their keys, of which there are hundreds of thousands, are encoded
// and decoded here by hand: generated code takes several times as long. The bytes are
// those of wire.proto, which TestBulkCodec compares.

// claimItem is a wire.Claim_Item.
type claimItem struct{ key, digest string }

// The numbers of fields in wire.proto that are written by hand.
const (
	fieldCommands  protowire.Number = 1  // Entry.commands
	fieldTime      protowire.Number = 1  // Command.time_us
	fieldClaim     protowire.Number = 2  // Command.claim
	fieldSubscribe protowire.Number = 3  // Command.subscribe
	fieldLast      protowire.Number = 16 // the last of Command.change
	fieldItems     protowire.Number = 1  // Claim.items, Subscribe.items
)

// itemFields is how many fields the larger of the items has, numbered from 1.
const itemFields = 7

func (i *claimItem) fields() [itemFields]*string { return [itemFields]*string{&i.key, &i.digest} }

func (i *Item) fields() [itemFields]*string {
	return [...]*string{&i.channel, &i.url, &i.sinkType, &i.sinkURL, &i.sinkSecret, &i.key, &i.digest}
}

// bulkItem is what a pointer to an item does.
type bulkItem[I any] interface {
	*I
	fields() [itemFields]*string
}

// EncodeClaim is a wire.Command, without its time, that ties the keys of some of the items
// to their requests.
func EncodeClaim(items []Item, which []int) []byte {
	claims := make([]claimItem, len(which))
	for j, i := range which {
		claims[j] = claimItem{items[i].key, items[i].digest}
	}
	return encodeClaim(claims)
}

func encodeClaim(items []claimItem) []byte { return encodeItems(fieldClaim, items) }

// EncodeSubscribe is a wire.Command, without its time, that makes the subscriptions of
// items.
func EncodeSubscribe(items []Item) []byte { return encodeItems(fieldSubscribe, items) }

func encodeItems[I any, P bulkItem[I]](change protowire.Number, items []I) []byte {
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

// AppendCommand appends a command, encoded without its time, to a log entry: the order of
// protobuf fields is free.
func AppendCommand(entry, command []byte, timeUS uint64) []byte {
	entry = protowire.AppendTag(entry, fieldCommands, protowire.BytesType)
	entry = protowire.AppendVarint(entry, uint64(len(command)+protowire.SizeTag(fieldTime)+protowire.SizeVarint(timeUS)))
	entry = append(entry, command...)
	entry = protowire.AppendTag(entry, fieldTime, protowire.VarintType)
	return protowire.AppendVarint(entry, timeUS)
}

// command is a decoded wire.Command. Its change is a []claimItem, a
// []Item, or what a wire.Command has.
type command struct {
	timeUS uint64
	change any
}

// CheckEntry refuses an entry of another node that Apply could not read.
func CheckEntry(entry []byte) error {
	_, err := decodeEntry(entry)
	return err
}

// CheckForwarded refuses a command of another node, without its time, that the range's
// replicas could not apply, or that only their leader may propose.
func CheckForwarded(content []byte) error {
	c, err := decodeCommand(message{content, string(content)})
	if err != nil {
		return err
	}
	switch c.change.(type) {
	case []claimItem, []Item, *wire.Command_Unsubscribe, *wire.Command_Restore:
	default:
		return fmt.Errorf("%w: a forwarded command with change %T", ErrInvalid, c.change)
	}
	if c.timeUS != 0 {
		return fmt.Errorf("%w: a forwarded command with a time", ErrInvalid)
	}
	return nil
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
			return misfit("log entry: a command of several changes")
		}
		switch number {
		case fieldClaim:
			c.change, err = decodeItems[claimItem](value)
		case fieldSubscribe:
			c.change, err = decodeItems[Item](value)
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
		return nil, misfit("log entry: %w", err)
	}
	return whole.Change, wire.Strict(whole)
}

func decodeItems[I any, P bulkItem[I]](m message) ([]I, error) {
	items := make([]I, 0, 1+len(m.data)/256)
	err := m.each(func(number protowire.Number, value message) error {
		if number != fieldItems {
			return unknownField("a list", number)
		}
		var item I
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
			return misfit("log entry: %w", protowire.ParseError(size))
		}
		at += size
		size = protowire.ConsumeFieldValue(field, kind, m.data[at:])
		if size < 0 {
			return misfit("log entry: %w", protowire.ParseError(size))
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
