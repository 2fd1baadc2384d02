package deltas

import (
	"fmt"
	"strings"
	"testing"
)

func benchmarkFeed(newest int) []byte {
	items := make([]item, 40)
	for i := range items {
		items[i] = story(newest - i)
		items[i].text = strings.Repeat(fmt.Sprintf("A sentence of story %d. ", newest-i), 20)
	}
	return rssFeed("", items...)
}

// How fast is a body that is known by its raw hash passed over? B/s counts.
//
//	go test ./deltas -run - -bench RawHash
func BenchmarkRawHash(b *testing.B) {
	body := benchmarkFeed(100)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		RawHash(body)
	}
}

// How fast is a changed document read? B/s counts, of the document.
//
//	go test ./deltas -run - -bench Extract
func BenchmarkExtract(b *testing.B) {
	var page strings.Builder
	for i := range 500 {
		fmt.Fprintf(&page, `<div class="row"><h2><a href="/%d?utm_source=x">Title %d</a></h2><p>Some words about it, and <b>more</b>.</p></div>`, i, i)
	}
	for name, body := range map[string][]byte{"feed": benchmarkFeed(100), "html": []byte("<html>" + page.String())} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				mustExtract(b, body)
			}
		})
	}
}

// What does an update cost from two contents to its stored form? ns/op counts.
//
//	go test ./deltas -run - -bench Compare
func BenchmarkCompare(b *testing.B) {
	base, next := mustExtract(b, benchmarkFeed(100)), mustExtract(b, benchmarkFeed(101))
	b.ReportAllocs()
	for b.Loop() {
		Compare(base, next).Append(nil)
	}
}
