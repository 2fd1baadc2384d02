package judge

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/extract/lines"
)

// Mask is something of a told content that noise hides: a change of it alone may be no
// update.
type Mask struct {
	What string `json:"what"` // as in [Masked]
	Text string `json:"text"` // what stands there, lines separated by line ends; cut at 200 bytes with …
	Why  string `json:"why"`  // as in [Masked]
}

// Bounds of what an update says about masks: 12 masks, 2 KiB in all, the learned ones
// first, which matter to a reader who misses something.
const (
	maxMasks     = 12
	maxMaskText  = 200
	maxMaskBytes = 2 << 10
)

// masksOf returns what the noise hides of a content, what was learned first; nil if
// that is nothing.
func (n Noise) masksOf(c *content.Core) []Mask {
	hides := n.hides(c)
	slices.SortStableFunc(hides, func(a, b Masked) int { return cmp.Compare(maskRank[a.What], maskRank[b.What]) })
	var masks []Mask
	left := maxMaskBytes
	for _, m := range merged(hides) {
		mask := Mask{What: m.What, Text: clipped(m.Shown, maxMaskText), Why: m.Why}
		if left -= len(mask.Text) + len(mask.Why); left < 0 || len(masks) == maxMasks {
			break
		}
		masks = append(masks, mask)
	}
	return masks
}

// maskRank orders what an update says of masks.
var maskRank = map[string]int{whatRegion: 0, whatNumber: 1, whatControl: 2}

// merged puts masks that are hidden for one reason, one behind the other, into one.
func merged(hides []Masked) []Masked {
	kept := hides[:0]
	for _, m := range hides {
		if last := len(kept) - 1; last >= 0 && m.What == whatControl && kept[last].What == whatControl {
			kept[last].Shown += "\n" + m.Shown
			continue
		}
		kept = append(kept, m)
	}
	return kept
}

// clipped returns at most limit bytes of a text, with … where it was cut.
func clipped(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	at := limit - len(lines.Mask)
	for !utf8.RuneStart(text[at]) {
		at--
	}
	return strings.TrimRight(text[:at], " \n") + lines.Mask
}
