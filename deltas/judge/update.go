package judge

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/seed-91e7e7c1/corona/deltas/codec"
	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/diff"
)

const (
	updateVersion = 1
	// maxUpdate is the longest update before compression: entries and diff,
	// each byte escaped at worst, and their names.
	maxUpdate = 2*maxEntryBytes + 6*diff.MaxUnified + 64<<10
)

// updateJSON is an update as it is stored, before compression.
type updateJSON struct {
	Kind       string          `json:"kind"`
	DeltaBytes int             `json:"delta_bytes"`
	Truncated  bool            `json:"truncated"`
	Entries    content.Entries `json:"entries"`
	Diff       string          `json:"diff"`
	Masked     []Mask          `json:"masked,omitempty"`
}

// Append appends the update's stored form to dst: readable by [DecodeUpdate]
// without anything else.
func (u *Update) Append(dst []byte) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	stored := updateJSON{Kind: u.Kind.String(), DeltaBytes: u.DeltaBytes, Truncated: u.Truncated, Entries: filled(u.Entries), Diff: u.Diff, Masked: u.Masked}
	if err := enc.Encode(stored); err != nil {
		panic(fmt.Sprintf("deltas: encode update: %v", err)) // strings, numbers and lists of them
	}
	return updateFrames.Append(append(dst, updateVersion), b.Bytes())
}

var updateFrames = codec.NewFrames(updateDictionary, maxUpdate)

// DecodeUpdate is the inverse of [Update.Append]. The error is [content.ErrVersion] or
// [content.ErrCorrupt].
func DecodeUpdate(data []byte) (*Update, error) {
	plain, err := UpdateJSON(data)
	if err != nil {
		return nil, err
	}
	var stored updateJSON
	if err := json.Unmarshal(plain, &stored); err != nil {
		return nil, fmt.Errorf("%w: update: %w", content.ErrCorrupt, err)
	}
	kind, err := content.ParseKind(stored.Kind)
	if err != nil {
		return nil, fmt.Errorf("%w: update: %w", content.ErrCorrupt, err)
	}
	return &Update{Kind: kind, DeltaBytes: stored.DeltaBytes, Truncated: stored.Truncated, Entries: filled(stored.Entries), Diff: stored.Diff, Masked: stored.Masked}, nil
}

// UpdateJSON returns an update that [Update.Append] made as a JSON object on one line: the
// kind as text, delta_bytes, truncated, entries, diff, and masked where something is. No list
// in it is null but that. The errors are those of [DecodeUpdate], though it looks at no more
// than the object's ends.
func UpdateJSON(data []byte) ([]byte, error) {
	if len(data) == 0 {
		return nil, fmt.Errorf("%w: empty update", content.ErrCorrupt)
	}
	if data[0] != updateVersion {
		return nil, fmt.Errorf("%w of update: %d", content.ErrVersion, data[0])
	}
	plain, err := updateFrames.Read(data[1:])
	if err != nil {
		return nil, err
	}
	plain = bytes.TrimSuffix(plain, []byte("\n"))
	if !bytes.HasPrefix(plain, []byte(`{"`)) || !bytes.HasSuffix(plain, []byte("}")) {
		return nil, fmt.Errorf("%w: update is no JSON object", content.ErrCorrupt)
	}
	return plain, nil
}

// filled returns the entries with no list nil.
func filled(e content.Entries) content.Entries {
	for _, list := range [...]*[]content.Entry{&e.Added, &e.Changed, &e.Removed} {
		if *list == nil {
			*list = []content.Entry{}
		}
	}
	return e
}

// updateDictionary is the history that stored updates are compressed with: the
// names and phrases that they all share. It is part of the format: another one
// needs another updateVersion. What is most common stands last, where it is
// nearest.
const updateDictionary = `the and of to in for a is on with as by at from that this it are be will has was not you your we our
January February March April May June July August September October November December
Monday Tuesday Wednesday Thursday Friday Saturday Sunday
{"kind":"text","delta_bytes":1{"kind":"json","delta_bytes":2{"kind":"html","delta_bytes":3
","link":"http://www.example.org/index.php?id=","link":"https://example.com/news/article/posts/blog/2026/01/
.html","published":"2026-01-01T00:00:00Z","updated":"2026-01-01T00:00:00Z","summary":"
","fields":["content"]},{"id":"","fields":["summary"]},{"id":"","fields":["title"]}],"removed":[]},"diff":"@@ -1 +1 @@
\n-  \n+  \n-title: \n+title: \n+link: https://www.\n+summary: \n-entry: https://\n+entry: https://www.
"}],"removed":[]},"diff":"@@ -0,0 +1,4 @@\n+entry: "}],"changed":[],"removed":[]},"diff":"@@ -12,0 +13,5 @@\n+entry: https://www.
{"kind":"feed","delta_bytes":0,"truncated":false,"entries":{"added":[{"id":"https://www.","title":"","link":"https://www.","published":"2026-
-01T00:00:00Z","updated":"","summary":""},{"id":"https://www.`
