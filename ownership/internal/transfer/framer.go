package transfer

import (
	"crypto/sha256"
	"hash"
	"io"
)

// framer writes frames. Its first error is final.
type framer struct {
	to     io.Writer
	hash   hash.Hash // of all that was written
	number uint32
	framed []byte
	err    error
}

func newFramer(to io.Writer) framer { return framer{to: to, hash: sha256.New()} }

func (w *framer) frame(kind byte, raw int, content []byte) {
	w.framed = appendFrame(w.framed[:0], frame{kind: kind, number: w.number, raw: uint32(raw)}, content)
	w.number++
	w.write(w.framed)
}

// write hands content over, which must not be used afterwards: pebble's files may
// modify what they are given.
func (w *framer) write(content []byte) {
	if w.err != nil {
		return
	}
	w.hash.Write(content)
	_, w.err = w.to.Write(content)
}
