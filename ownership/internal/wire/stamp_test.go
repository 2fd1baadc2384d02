package wire

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

// UpdateStamp reads what decoding the whole update does, and no cut one as another.
func TestUpdateStamp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(rapid.Just(uint64(0)), rapid.Uint64())
		update := &Update{
			Incarnation: number.Draw(t, "incarnation"), Stamp: number.Draw(t, "stamp"), AtUs: number.Draw(t, "at"),
			Data: rapid.SliceOf(rapid.Byte()).Draw(t, "data"),
		}
		content, err := proto.Marshal(update)
		if err != nil {
			t.Fatal(err)
		}
		if stamp, err := UpdateStamp(content); err != nil || stamp != update.Stamp {
			t.Fatalf("%d, %v; want %d", stamp, err, update.Stamp)
		}
		cut := content[:rapid.IntRange(0, len(content)).Draw(t, "cut")]
		if stamp, err := UpdateStamp(cut); err == nil && stamp != 0 && stamp != update.Stamp {
			t.Fatalf("of a cut one %d, want %d or none", stamp, update.Stamp)
		}
	})
}
