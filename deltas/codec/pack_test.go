package codec

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/extract"
	"github.com/seed-91e7e7c1/corona/deltas/internal/documents"
	"github.com/seed-91e7e7c1/corona/deltas/internal/extracted"
)

func TestPackedReadsBack(t *testing.T) {
	p := NewPacker(1)
	rapid.Check(t, func(t *rapid.T) {
		core, err := extract.Content(extract.Document{Body: documents.Any().Draw(t, "document")})
		if err != nil {
			t.SkipNow()
		}
		packed := p.Append([]byte("prefix"), core)
		got, err := p.Unpack(packed[len("prefix"):])
		if err != nil || !bytes.HasPrefix(packed, []byte("prefix")) || !bytes.Equal(got.Text, core.Text) || got.Hash != core.Hash ||
			!bytes.Equal(got.AppendSources(nil), core.AppendSources(nil)) {
			t.Fatalf("%q came back as %v, %v", core.Text, got, err)
		}
	})
}

// The longest content that there is fits into what may be unpacked.
func TestPackedLongest(t *testing.T) {
	p := NewPacker(1)
	var b bytes.Buffer
	for line := strings.Repeat("0123456789abcde ", 200) + "\n"; b.Len()+len(line) < content.MaxText-1024; {
		b.WriteString(line)
	}
	core := extracted.Of(t, b.Bytes())
	if got, err := p.Unpack(p.Append(nil, core)); err != nil || !bytes.Equal(got.Text, core.Text) {
		t.Errorf("%d bytes: %v", len(core.Text), err)
	}
}

// Packed contents outlive the program that wrote them: the dictionary is part of
// the format.
func TestPackedForEver(t *testing.T) {
	core := extracted.Of(t, []byte("one\ntwo\n"))
	p := NewPacker(1)
	for _, stored := range [...]string{"AQAApQAAOG9uZQp0d28DAO5r22J5gN6yAAI=", "AgAAAKUAADhvbmUKdHdvAwDua9tieYDesgAC"} {
		data, err := base64.StdEncoding.DecodeString(stored)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := p.Unpack(data); err != nil || !bytes.Equal(got.Text, core.Text) {
			t.Errorf("%v, %v; today it is %s", got, err, base64.StdEncoding.EncodeToString(p.Append(nil, core)))
		}
	}
	if got, err := p.Unpack(core.Text); err != nil || got.Hash != core.Hash {
		t.Errorf("text that was stored as it is: %v, %v", got, err)
	}
}

// Small contents gain most from the dictionary. What entries were read from does not pack.
func TestPackedIsSmall(t *testing.T) {
	core, err := content.ParseCore(extracted.Of(t, documents.Stories(2, 1)).Text)
	if err != nil {
		t.Fatal(err)
	}
	if packed := NewPacker(1).Append(nil, core); len(packed) > len(core.Text)*2/5 {
		t.Errorf("%d bytes of %d", len(packed), len(core.Text))
	}
}

func TestUnpackErrors(t *testing.T) {
	p := NewPacker(1)
	frame := func(text string) []byte { return appendFrame([]byte{packVersion, 0}, p.encoder, []byte(text)) }
	for _, test := range []struct {
		name string
		data []byte
		want error
	}{
		{"nothing", nil, content.ErrCorrupt},
		{"another version", []byte{packVersion + 1}, content.ErrVersion},
		{"no frame", []byte{packVersion, 0, 2, 3}, content.ErrCorrupt},
		{"no sources", []byte{packVersion}, content.ErrCorrupt},
		{"sources cut short", append([]byte{packVersion, 2}, make([]byte, 23)...), content.ErrCorrupt},
		{"more sources than entries", append(extracted.Of(t, documents.Stories(2, 1)).AppendSources([]byte{packVersion}), frame(string(extracted.Of(t, documents.Stories(1)).Text))[2:]...), content.ErrCorrupt},
		{"another text", frame("text"), content.ErrCorrupt},
		{"text of another version", frame(strings.Replace(content.TextMagic, "1", "9", 1) + "text\n\n" + content.NotesMark), content.ErrVersion},
		{"too long", frame(strings.Repeat("x", content.MaxCoreText+1)), content.ErrCorrupt},
		{"plain text that is none", []byte("cut"), content.ErrCorrupt},
	} {
		if got, err := p.Unpack(test.data); got != nil || !errors.Is(err, test.want) {
			t.Errorf("%s: %v, %v; want %v", test.name, got, err, test.want)
		}
	}
}

// Bytes are refused, or are a content that comes back the same.
func FuzzUnpack(f *testing.F) {
	p := NewPacker(1)
	f.Add(p.Append(nil, extracted.Of(f, documents.Stories(2, 1))))
	f.Add([]byte{packVersion})
	f.Fuzz(func(t *testing.T, data []byte) {
		core, err := p.Unpack(data)
		if err != nil {
			if core != nil || !errors.Is(err, content.ErrCorrupt) && !errors.Is(err, content.ErrVersion) {
				t.Fatalf("%v, %v", core, err)
			}
			return
		}
		if again, err := p.Unpack(p.Append(nil, core)); err != nil || again.Hash != core.Hash {
			t.Fatalf("%v, %v", again, err)
		}
	})
}

// What does a content cost on its way to the store and back? ns/op counts, and how
// small it gets.
//
//	go test ./deltas/codec -run - -bench Pack
func BenchmarkPack(b *testing.B) {
	p, core := NewPacker(1), extracted.Of(b, documents.LongFeed(100))
	packed := p.Append(nil, core)
	b.Run("pack", func(b *testing.B) {
		b.SetBytes(int64(len(core.Text)))
		b.ReportAllocs()
		for b.Loop() {
			packed = p.Append(packed[:0], core)
		}
		b.ReportMetric(float64(len(packed))/float64(len(core.Text)), "ratio")
	})
	b.Run("unpack", func(b *testing.B) {
		b.SetBytes(int64(len(core.Text)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := p.Unpack(packed); err != nil {
				b.Fatal(err)
			}
		}
	})
}
