package extract

import (
	"errors"
	"strings"
	"testing"

	"github.com/seed-91e7e7c1/corona/deltas/content"
)

// Row 26: UTF-7, lying charset, BOM, odd UTF-16: decoded or error. Row 27: NUL,
// invalid UTF-8, C0 controls: repaired.
func TestDecodeText(t *testing.T) {
	tests := []struct{ name, body, contentType, want string }{
		{"plain", "abc", "", "abc"},
		{"UTF-8 BOM", "\xef\xbb\xbfabc", "", "abc"},
		{"UTF-16LE BOM", "\xff\xfea\x00\xe4\x00", "", "aä"},
		{"UTF-16BE without BOM", "\x00<\x00a\x00>", "", "<a>"},
		{"UTF-16LE without BOM", "<\x00a\x00>\x00", "", "<a>"},
		{"UTF-16 cut in a character", "\xff\xfea\x00b", "", "a�"},
		{"UTF-32BE", "\x00\x00\xfe\xff\x00\x00\x00a", "", "a"},
		{"UTF-32LE without BOM", "<\x00\x00\x00a\x00\x00\x00", "", "<a"},
		{"header says latin-1", "caf\xe9", "text/plain; charset=iso-8859-1", "café"},
		{"header lies, bytes are UTF-8", "café", "text/html; charset=iso-8859-1", "café"},
		{"XML declares koi8-r", `<?xml version="1.0" encoding="koi8-r"?>` + "\xc1", "", `<?xml version="1.0" encoding="koi8-r"?>` + "а"},
		{"meta declares windows-1251", "<meta charset='windows-1251'>\xc0", "", "<meta charset='windows-1251'>А"},
		{"ISO-2022-JP is 7-bit", `<?xml version="1.0" encoding="iso-2022-jp"?>` + "\x1b$B$\"\x1b(B", "", `<?xml version="1.0" encoding="iso-2022-jp"?>あ`},
		{"unknown encoding", `<?xml version="1.0" encoding="bogus"?>` + "\xe9", "", `<?xml version="1.0" encoding="bogus"?>é`},
		{"declared UTF-16 that is ASCII", `<?xml version="1.0" encoding="utf-16"?>x`, "", `<?xml version="1.0" encoding="utf-16"?>x`},
		{"one invalid byte in UTF-8", "ä\x93ö", "", "ä“ö"},
		{"NUL and controls", "a\x00b\x0bc\x1bd\x7fe\tf\n", "", "abcde\tf\n"},
		{"C1, BOM and noncharacters inside", "a\u0085b\ufeffc\uffffd\U0001fffee", "", "abcde"},
	}
	for _, test := range tests {
		got, err := Decode([]byte(test.body), test.contentType)
		if err != nil || got != test.want {
			t.Errorf("%s: %q, %v; want %q", test.name, got, err, test.want)
		}
	}
}

func TestDecodeTextErrors(t *testing.T) {
	tests := []struct {
		name, body, contentType string
		want                    error
		reason                  string
	}{
		{"empty", "", "", content.ErrEmpty, ""},
		{"white space", " \r\n\t", "", content.ErrEmpty, ""},
		{"nothing but NULs", strings.Repeat("\x00", 40), "", content.ErrEmpty, ""},
		{"UTF-7 in the header", "+ADw-script+AD4-", "text/html; charset=utf-7", nil, "UTF-7"},
		{"UTF-7 in the document", `<?xml version="1.0" encoding="UTF-7"?><rss/>`, "", nil, "UTF-7"},
		{"an encoding that hides markup", "~{", "text/html; charset=hz-gb-2312", nil, "not supported"},
		{"binary", strings.Repeat("\x01\x02\x03\x1f\x8b text", 40), "", nil, "binary"},
	}
	for _, test := range tests {
		got, err := Decode([]byte(test.body), test.contentType)
		var parse *content.ParseError
		switch {
		case test.want != nil && errors.Is(err, test.want):
		case test.reason != "" && errors.As(err, &parse) && strings.Contains(parse.Reason, test.reason):
		default:
			t.Errorf("%s: %q, %v; want %v %s", test.name, got, err, test.want, test.reason)
		}
	}
}
