package deltas

import (
	"testing"

	"github.com/seed-91e7e7c1/corona/deltas/internal/documents"
	"github.com/seed-91e7e7c1/corona/deltas/internal/extracted"
)

// How fast is a body that is known by its raw hash passed over? B/s counts.
//
//	go test ./deltas -run - -bench RawHash
func BenchmarkRawHash(b *testing.B) {
	body := documents.LongFeed(100)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		RawHash(body)
	}
}

// What does an update cost from two contents to its stored form? ns/op counts.
//
//	go test ./deltas -run - -bench Compare
func BenchmarkCompare(b *testing.B) {
	base, next := extracted.Of(b, documents.LongFeed(100)), extracted.Of(b, documents.LongFeed(101))
	b.ReportAllocs()
	for b.Loop() {
		Compare(base, next).Append(nil)
	}
}
