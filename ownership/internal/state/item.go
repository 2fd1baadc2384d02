package state

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/seed-91e7e7c1/corona/channel"
)

// NewSubscription is a wish for a subscription.
type NewSubscription struct {
	URL     string     // canonical
	Channel channel.ID // of URL
	Sink    channel.Sink
	Key     string // idempotency key, empty for none; only its hash is kept
	Once    bool   // make none while the channel has one with the same sink; takes no Key
}

// Item is a wish as commands carry it, a wire.Subscribe_Item. When it was decoded, its
// strings share the memory of the log entry: what is kept is cloned.
type Item struct {
	channel, url, sinkType, sinkURL, sinkSecret, key, digest string
}

// NewItems makes items of wishes. The error of a wish that breaks the rules is ErrInvalid.
func NewItems(wishes []NewSubscription) (items []Item, errs []error) {
	items, errs = make([]Item, len(wishes)), make([]error, len(wishes))
	var text []byte
	for i := range wishes {
		text = items[i].fill(&wishes[i], text)
		errs[i] = items[i].checkWish(&wishes[i])
	}
	return items, errs
}

// fill makes the item of a wish. It returns the memory of text, for the next one.
func (i *Item) fill(wish *NewSubscription, text []byte) []byte {
	*i = Item{
		channel: string(wish.Channel[:]), url: wish.URL,
		sinkType: wish.Sink.Type, sinkURL: wish.Sink.URL, sinkSecret: wish.Sink.Secret,
	}
	switch {
	case wish.Once:
		text = appendRequest(append(text[:0], onceMark), wish)
		key := sha1.Sum(text)
		i.key = string(key[:])
	case wish.Key != "":
		text = append(text[:0], wish.Key...)
		key := sha1.Sum(text)
		text = appendRequest(text[:0], wish)
		digest := sha256.Sum256(text)
		i.key, i.digest = string(key[:]), string(digest[:digestLen])
	}
	return text
}

func (i *Item) checkWish(wish *NewSubscription) error {
	if err := i.check(); err != nil {
		return err
	}
	switch {
	case wish.Once && wish.Key != "":
		return fmt.Errorf("%w: a key, and to be made once", ErrInvalid)
	case channel.IDOf(wish.URL) != wish.Channel:
		return fmt.Errorf("%w: %s is not the channel of its URL", ErrInvalid, wish.Channel)
	}
	return nil
}

// onceMark begins what is hashed to the key of an item to be made once. No key that a
// client gives begins with it.
const onceMark = 0

// appendRequest appends what distinguishes requests with the same key.
func appendRequest(text []byte, wish *NewSubscription) []byte {
	for _, part := range []string{wish.URL, wish.Sink.Type, wish.Sink.URL, wish.Sink.Secret} {
		text = binary.BigEndian.AppendUint32(text, uint32(len(part)))
		text = append(text, part...)
	}
	return text
}

// Channel returns the channel's ID. The item is one of NewItems, without an error.
func (i *Item) Channel() channel.ID { return channel.ID([]byte(i.channel)) }

// Key returns the hash of the idempotency key, false for none.
func (i *Item) Key() (channel.ID, bool) {
	id, err := textID(i.key)
	return id, err == nil
}

// Once says that the item's key stands for its channel and sink: the item is subscribed
// unless the subscription that the key made still exists. A version that does not know
// this refuses a key without a digest.
func (i *Item) Once() bool { return i.key != "" && i.digest == "" }

// Size returns about how many bytes the item takes in a command.
func (i *Item) Size() int { return len(i.url) + len(i.sinkURL) + len(i.sinkSecret) + 128 }

// check returns ErrInvalid for what must not be stored.
func (i *Item) check() error {
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
	case i.Once():
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
func (i *Item) sink() channel.Sink {
	return channel.Sink{Type: strings.Clone(i.sinkType), URL: strings.Clone(i.sinkURL), Secret: strings.Clone(i.sinkSecret)}
}
