package lists

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-91e7e7c1/corona/channel"
)

// listText is what readList yields, an entry a line.
func listText(list string) string {
	var b strings.Builder
	for entry, err := range readList(strings.NewReader(list)) {
		switch {
		case err != nil:
			fmt.Fprintf(&b, "%d error %v\n", entry.line, err)
		case entry.reason != "":
			fmt.Fprintf(&b, "%d %s: %s\n", entry.line, entry.url, entry.reason)
		default:
			fmt.Fprintf(&b, "%d %s\n", entry.line, entry.url)
		}
	}
	return b.String()
}

func TestReadList(t *testing.T) {
	long := strings.Repeat("x", maxListLine)
	tests := []struct{ name, list, want string }{
		{"nothing", "", ""},
		{"lines", "http://a/\n\n  # comment\n\thttp://b/ \r\nhttp://c/", "1 http://a/\n4 http://b/\n5 http://c/\n"},
		{"byte order mark", "\ufeffhttp://a/\n", "1 http://a/\n"},
		{"shorter than a byte order mark", "x", "1 x\n"},
		{"what is no URL is the caller's to judge", "nonsense\n", "1 nonsense\n"},
		{"a line too long", "http://a/" + long + "\nhttp://b/\n", "1 http://a/" + long[:51] + "…: the line is longer than 64 KiB\n2 http://b/\n"},
		{"the last line too long", long + long, "1 " + long[:60] + "…: the line is longer than 64 KiB\n"},

		{"OPML", `<?xml version="1.0"?>
<opml version="2.0"><head><title>T</title></head><body>
  <outline text="folder">
    <outline type="rss" text="A &amp; B" xmlUrl="http://a/?x=1&amp;y=2"/>
    <outline type="rss" text="no URL"/>
    <outline type="link" text="a link" url="http://l/"/>
  </outline>
  <OUTLINE XMLURL=' http://b/ '></OUTLINE><outline xmlUrl="http://c/"/>
</body></opml>
`, "4 http://a/?x=1&y=2\n5 no URL: the outline has no xmlUrl\n8 http://b/\n8 http://c/\n"},
		{"OPML behind a byte order mark and space", "\ufeff \n<opml><outline xmlUrl='http://a/'/></opml>", "2 http://a/\n"},
		{"OPML in Latin-1", "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><opml><outline xmlUrl=\"http://a/\xe4\"/></opml>", "1 http://a/ä\n"},
		{"OPML with what browsers forgive", "<opml><body><outline type=rss xmlUrl='http://a/' text=\"&nbsp;&foo; \"></body></opml>", "1 http://a/\n"},
		{"no entities of its own", `<!DOCTYPE opml [<!ENTITY x "http://x/">]><opml><outline xmlUrl="&x;"/></opml>`, "1 &x;\n"},
		{"cut off", "<opml>\n<outline xmlUrl='http://a/'/>\n<outline xml", "2 http://a/\n3 error broken XML: unexpected EOF\n"},
		{"cut off between tags", "<opml>\n<outline xmlUrl='http://a/'/>\n", "2 http://a/\n3 error broken XML: unexpected EOF\n"},
		{"a page", "<!doctype html>\n<html><body>", "2 error <html> is not OPML\n"},
		{"no element", "<!-- nothing -->", "1 error no OPML in it\n"},
		{"a tag without end", "<opml>\n<outline text='" + strings.Repeat("x", 2*maxTag), "2 error a tag or text longer than 1048576 bytes\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := listText(test.list); got != test.want {
				t.Errorf("got\n%.500s\nwant\n%.500s", got, test.want)
			}
		})
	}
}

// TestReadListLeft: a loop over a list may be left.
func TestReadListLeft(t *testing.T) {
	for _, list := range []string{"http://a/\nhttp://b/\n", "<opml><outline xmlUrl='http://a/'/><outline xmlUrl='http://b/'/></opml>"} {
		for entry := range readList(strings.NewReader(list)) {
			if entry.url != "http://a/" {
				t.Errorf("first URL of %q is %q", list, entry.url)
			}
			break
		}
	}
}

// TestReadListEnds: where entries end grows, up to the length of the list.
func TestReadListEnds(t *testing.T) {
	for _, list := range []string{"http://a/\n#\nhttp://b/\n", "<opml>\n<outline xmlUrl='http://a/'/>\n<outline xmlUrl='http://b/'/></opml>"} {
		last := int64(0)
		for entry := range readList(strings.NewReader(list)) {
			if entry.end <= last || entry.end > int64(len(list)) || !strings.Contains(list[last:entry.end], entry.url) {
				t.Errorf("%s ends at %d, behind %d of %d", entry.url, entry.end, last, len(list))
			}
			last = entry.end
		}
	}
}

// TestReadRealLists reads lists that people keep.
func TestReadRealLists(t *testing.T) {
	tests := []struct {
		file          string
		urls, refused int // refused: what cannot name a channel
	}{
		{"web-dev-feeds.opml", 1073, 0},
		{"smallweb-feeds.txt", 36515, 0},
	}
	for _, test := range tests {
		t.Run(test.file, func(t *testing.T) {
			file, err := os.Open(filepath.Join("..", "..", "..", "..", "shared", "data", "lists", test.file))
			if err != nil {
				t.Skip("the lists of real feeds are not here:", err)
			}
			defer file.Close()
			urls, refused := 0, 0
			for entry, err := range readList(file) {
				if err != nil {
					t.Fatal(err)
				}
				urls++
				if _, err := channel.Canonical(entry.url); err != nil || entry.reason != "" {
					refused++
					t.Logf("line %d: %v %s", entry.line, err, entry.reason)
				}
			}
			if urls != test.urls || refused != test.refused {
				t.Errorf("%d URLs, %d refused; want %d, %d", urls, refused, test.urls, test.refused)
			}
		})
	}
}

// FuzzReadList: no list makes it panic or go on for ever, lines are numbered
// upwards, and only the last entry is an error.
func FuzzReadList(f *testing.F) {
	f.Add("http://a/\n# c\n\nhttp://b/")
	f.Add("<opml><outline xmlUrl='http://a/'><outline type=rss></opml>")
	f.Add("\xef\xbb\xbf<?xml version='1.0' encoding='utf-16'?><opml>")
	f.Fuzz(func(t *testing.T, list string) {
		last, ended := 0, false
		for entry, err := range readList(strings.NewReader(list)) {
			if ended {
				t.Fatal("an entry behind an error")
			}
			if entry.line < last {
				t.Fatalf("line %d behind line %d", entry.line, last)
			}
			last, ended = entry.line, err != nil
		}
	})
}
