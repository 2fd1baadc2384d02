// Package wire is the encoding of what the ownership package keeps on disk, made
// from wire.proto.
package wire

//go:generate protoc --go_out=. --go_opt=paths=source_relative wire.proto
