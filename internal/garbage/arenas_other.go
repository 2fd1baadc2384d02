//go:build !cgo || !linux

package garbage

func oneArena() {}
