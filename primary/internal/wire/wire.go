// Package wire is the encoding of what nodes tell each other of the ranges that they
// lead, made from exchange.proto.
package wire

//go:generate protoc --go_out=. --go_opt=paths=source_relative exchange.proto
