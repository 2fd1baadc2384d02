package run

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
)

// rawFile writes raw.jsonl.zst: a line for each change that a node was sent, and for each
// update that arrived. Times are milliseconds since the Unix epoch.
//
//	{"k":"change","c":CHANNEL,"r":REVISION,"at":CHANGED,"sent":SENT}
//	{"k":"delivery","s":SUBSCRIPTION,"c":CHANNEL,"v":VERSION,"r":REVISION,"sent":SENT,"at":ARRIVED}
type rawFile struct {
	mu    sync.Mutex
	file  *os.File
	coder *zstd.Encoder
	lines *bufio.Writer
	line  []byte
	err   error // of the first write that failed
}

func newRawFile(name string) (*rawFile, error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	coder, err := zstd.NewWriter(file, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &rawFile{file: file, coder: coder, lines: bufio.NewWriterSize(coder, 256<<10)}, nil
}

// Changed implements [track.Raw].
func (w *rawFile) Changed(channel int, revision int64, changed, sent time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begin("change")
	w.whole("c", int64(channel))
	w.whole("r", revision)
	w.time("at", changed)
	w.time("sent", sent)
	w.end()
}

// Delivered implements [track.Raw].
func (w *rawFile) Delivered(subscription, channel int, version uint64, revision int64, sent, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begin("delivery")
	w.whole("s", int64(subscription))
	w.whole("c", int64(channel))
	w.whole("v", int64(version))
	w.whole("r", revision)
	w.time("sent", sent)
	w.time("at", at)
	w.end()
}

func (w *rawFile) begin(kind string) {
	w.line = append(append(append(w.line[:0], `{"k":"`...), kind...), '"')
}

func (w *rawFile) key(name string) {
	w.line = append(append(append(w.line, `,"`...), name...), `":`...)
}

func (w *rawFile) whole(name string, value int64) {
	w.key(name)
	w.line = strconv.AppendInt(w.line, value, 10)
}

func (w *rawFile) time(name string, at time.Time) {
	w.key(name)
	w.line = strconv.AppendFloat(w.line, float64(at.UnixMicro())/1000, 'f', 3, 64)
}

func (w *rawFile) end() {
	if w.err == nil {
		_, w.err = w.lines.Write(append(w.line, "}\n"...))
	}
}

// Close writes what is left.
func (w *rawFile) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := errors.Join(w.err, w.lines.Flush(), w.coder.Close(), w.file.Close()); err != nil {
		return fmt.Errorf("%s: %w", w.file.Name(), err)
	}
	return nil
}
