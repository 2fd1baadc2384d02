// Package wire is the encoding of what owners and pollers of channels say to each
// other, made from wedge.proto.
package wire

//go:generate protoc --go_out=. --go_opt=paths=source_relative wedge.proto
