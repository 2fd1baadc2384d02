package peer

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const gossipKeyLength = 32 // bytes: AES-256

// GossipFile is the name of the file with the key of the cluster's gossip. It lies
// beside the certificates, and each node needs it.
const GossipFile = "gossip.key"

// MakeGossipKey makes the key of the cluster's gossip in a directory of certificates,
// unless it holds one, which must be readable then. It says whether it made one.
func MakeGossipKey(dir string) (made bool, err error) {
	_, err = LoadGossipKey(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	key := make([]byte, gossipKeyLength)
	_, _ = rand.Read(key) // never fails
	if err := writeNew(filepath.Join(dir, GossipFile), []byte(hex.EncodeToString(key)+"\n"), keyPerm); err != nil {
		return false, fmt.Errorf("key of the gossip: %w", err)
	}
	return true, nil
}

// LoadGossipKey reads the key of the cluster's gossip, 32 bytes, from a directory of
// certificates.
func LoadGossipKey(dir string) ([]byte, error) {
	path := filepath.Join(dir, GossipFile)
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(content)))
	if err != nil || len(key) != gossipKeyLength {
		return nil, fmt.Errorf("%s: want a key of %d hex digits", path, 2*gossipKeyLength)
	}
	return key, nil
}
