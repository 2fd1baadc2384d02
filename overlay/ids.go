package overlay

import (
	"crypto/sha1"

	"github.com/seed-91e7e7c1/corona/channel"
)

// NodeID returns a node's place in the space of channels' IDs: the SHA-1 of its
// name.
func NodeID(name string) channel.ID { return sha1.Sum([]byte(name)) }
