// Package channel holds the nouns that every other package shares: a [Channel] (a
// URL that subscribers share), its [ID] and [Bucket], a [Subscription], an [Update]
// with its [Cursor], the [Progress] of deliveries, an [Endpoint], and the errors
// that readers of them branch on. Each noun has one record type, here; packages
// convert it only on the wire and at JSON.
//
// A channel's ID is the SHA-1 of its canonical URL, so two spellings of one URL
// are one channel. [Parse] is the only way in from text that a person wrote.
package channel
