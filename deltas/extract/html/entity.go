package html

import (
	"strings"

	"golang.org/x/net/html"

	"github.com/seed-91e7e7c1/corona/deltas/scan"
)

// eachDecoded calls f with s, piece by piece, its entities decoded as in text or in
// an attribute.
func eachDecoded(s string, attribute bool, f func(string)) {
	for at := strings.IndexByte(s, '&'); at >= 0; at = strings.IndexByte(s, '&') {
		decoded, size := decodeEntity(s[at:], attribute)
		f(s[:at])
		f(decoded)
		s = s[at+size:]
	}
	f(s)
}

// decodeEntity returns what the entity at the beginning of s stands for and its
// length, as browsers see it: without the semicolon too, but in attributes only
// where no more of a word or an equals sign follows. What is none stands for
// itself.
func decodeEntity(s string, attribute bool) (decoded string, size int) {
	size = 1
	for size < len(s) && (scan.IsLetter(s[size]) || scan.IsDigit(s[size]) || size == 1 && s[size] == '#') {
		size++
	}
	if size < len(s) && s[size] == ';' {
		size++
	}
	entity := s[:size]
	if decoded, ok := commonEntities[entity]; ok {
		return decoded, size
	}
	number, ok := strings.CutPrefix(entity, "&#")
	if ok && len(number) <= maxNumber {
		if code, ok := scan.CharacterReference(number); ok && code > 0x9f {
			return string(code), size
		}
	}
	decoded = html.UnescapeString(entity)
	if attribute && !ok && (endsAlike(decoded, entity) || strings.HasPrefix(s[size:], "=") && s[size-1] != ';') {
		return entity, size
	}
	return decoded, size
}

// maxNumber is the length of the longest number of a character, with its semicolon.
const maxNumber = len("1114111;")

// endsAlike reports that the end of a possible entity is not part of it: the rest is
// decoded, and the end left as it is.
func endsAlike(decoded, entity string) bool {
	return decoded != ";" && decoded[len(decoded)-1] == entity[len(entity)-1]
}

// commonEntities are the most frequent ones.
var commonEntities = map[string]string{
	"&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": `"`, "&#34;": `"`, "&#39;": "'", "&#039;": "'", "&#x27;": "'",
	"&nbsp;": "\u00a0", "&lsquo;": "‘", "&rsquo;": "’", "&ldquo;": "“", "&rdquo;": "”",
	"&ndash;": "–", "&mdash;": "—", "&hellip;": "…", "&copy;": "©", "&middot;": "·", "&bull;": "•", "&raquo;": "»",
}
