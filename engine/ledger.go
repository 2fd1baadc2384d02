package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// ledger is a file of what must be true of our manners after the process was
// killed: when each channel was last asked, until when it and its host are to be
// spared. A row is written before its request goes out, by one write that is not
// synced: a kill loses nothing, a power failure what was not on disk yet. Losing
// all of it costs a poll too early of each channel, and no content.
//
// The file is an array of rows of 64 bytes. Each begins with the CRC-32C of its
// other 60 bytes; then comes one byte that says what it is. Numbers are little
// endian, times nanoseconds since 1970.
//
//	row 0     the header: 'L', 3 bytes of 0, format (uint32), 52 bytes of 0
//	others    'c' and a channel, 'h' and a host (rows.go), or 64 bytes of 0: free
//
// A row that is neither is as good as free: its write was cut short.
type ledger struct {
	file    vfs.File
	logger  *slog.Logger
	buffers sync.Pool   // of *ledgerRow: a write must not allocate
	failing atomic.Bool // news may be due: else a write that succeeds does not look at them
	mu      struct {
		sync.Mutex
		news ledgerNews
	}
	metrics *metrics
	partial bool // channels of an earlier run may be missing: it was begun anew, or rows could not be read
}

// ledgerRow is a row as it is in the file.
type ledgerRow [rowLen]byte

const (
	ledgerFile = "ledger"
	rowLen     = 64
	headerKind = 'L'

	// ledgerFormat counts the formats of the file. A higher one is refused.
	ledgerFormat = 1

	// mostRows bounds the file. A channel beyond it has no row.
	mostRows = 1 << 27
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal fills in a row's checksum.
func (r *ledgerRow) seal() { binary.LittleEndian.PutUint32(r[:], crc32.Checksum(r[4:], castagnoli)) }

func (r *ledgerRow) intact() bool {
	return binary.LittleEndian.Uint32(r[:]) == crc32.Checksum(r[4:], castagnoli)
}

// openLedger opens the ledger beside the content cache, or begins one, and calls
// visit with every row but the header, in order; nil is one that is free.
func openLedger(config Config, m *metrics, visit func(number int32, row *ledgerRow)) (*ledger, error) {
	name := config.fs.PathJoin(config.Dir, ledgerFile)
	l := &ledger{logger: config.Logger, metrics: m}
	l.buffers.New = func() any { return new(ledgerRow) }
	var err error
	if l.file, err = config.fs.OpenReadWrite(name, vfs.WriteCategoryUnspecified); err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	format, err := readLedgerFormat(l.file)
	switch {
	case err != nil:
	case format == 0:
		err = l.begin(config.fs, name)
	default:
		err = l.read(visit)
	}
	if err != nil {
		return nil, errors.Join(err, l.file.Close())
	}
	return l, nil
}

// readLedgerFormat returns the format of a ledger, 0 when the file is none that can
// be read.
func readLedgerFormat(file io.ReaderAt) (int, error) {
	var header ledgerRow
	if _, err := file.ReadAt(header[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return 0, fmt.Errorf("read the ledger's header: %w", err)
	}
	if !header.intact() || header[4] != headerKind {
		return 0, nil
	}
	return int(binary.LittleEndian.Uint32(header[8:])), nil
}

// begin makes the file anew, so that nothing of another one is left in it.
func (l *ledger) begin(fs vfs.FS, name string) (err error) {
	l.partial = true
	if err := errors.Join(l.file.Close(), fs.Remove(name)); err != nil {
		return fmt.Errorf("begin ledger: %w", err)
	}
	if l.file, err = fs.OpenReadWrite(name, vfs.WriteCategoryUnspecified); err != nil {
		return fmt.Errorf("begin ledger: %w", err)
	}
	var header ledgerRow
	header[4] = headerKind
	binary.LittleEndian.PutUint32(header[8:], ledgerFormat)
	header.seal()
	l.putAt(0, &header)
	return nil
}

// read calls visit with each row. What cannot be read is counted.
func (l *ledger) read(visit func(number int32, row *ledgerRow)) error {
	info, err := l.file.Stat()
	if err != nil {
		return fmt.Errorf("size of the ledger: %w", err)
	}
	if info.Size()%rowLen != 0 {
		l.lost()
	}
	rows := int32(min(info.Size()/rowLen, mostRows))
	const chunk = 1024
	buffer := make([]byte, chunk*rowLen)
	for first := int32(1); first < rows; first += chunk {
		part := buffer[:min(chunk, rows-first)*rowLen]
		if _, err := l.file.ReadAt(part, int64(first)*rowLen); err != nil {
			return fmt.Errorf("read the ledger: %w", err)
		}
		for i := range int32(len(part) / rowLen) {
			visit(first+i, l.checked((*ledgerRow)(part[i*rowLen:])))
		}
	}
	return nil
}

// checked returns a row that says something, nil otherwise.
func (l *ledger) checked(row *ledgerRow) *ledgerRow {
	if *row == (ledgerRow{}) {
		return nil
	}
	if !row.intact() {
		l.lost()
		return nil
	}
	return row
}

// lost counts a row that cannot be read.
func (l *ledger) lost() {
	l.partial = true
	l.metrics.ledgerLost.Inc()
}

// writeChannel notes what is known of a channel.
func (l *ledger) writeChannel(number int32, r *channelRow) {
	row := l.buffers.Get().(*ledgerRow)
	*row = ledgerRow{}
	r.fill(row)
	row.seal()
	l.put(number, row)
	l.buffers.Put(row)
}

// writeHost notes what is known of a host.
func (l *ledger) writeHost(number int32, r *hostRow) {
	row := new(ledgerRow)
	r.fill(row)
	row.seal()
	l.put(number, row)
}

// clear makes a row free.
func (l *ledger) clear(number int32) { l.put(number, new(ledgerRow)) }

// put writes a row where its number says. A failure is counted, and logged as
// ledgerNews says: polling goes on. Row 0, which nobody has, is not written.
func (l *ledger) put(number int32, row *ledgerRow) {
	if number == 0 {
		return
	}
	l.putAt(int64(number)*rowLen, row)
}

func (l *ledger) putAt(offset int64, row *ledgerRow) {
	_, err := l.file.WriteAt(row[:], offset)
	if err != nil {
		l.metrics.ledgerErrors.Inc()
	} else if !l.failing.Load() {
		return // as ever
	}
	l.tell(err)
}

// tell logs that writes fail, or succeed again.
func (l *ledger) tell(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	tells := l.mu.news.tells(err != nil, time.Now())
	l.failing.Store(err != nil || l.mu.news.failing)
	switch {
	case !tells:
	case err != nil:
		l.logger.Error("ledger cannot be written: floors and resting hosts are forgotten if the process ends", "error", err)
	default:
		l.logger.Info("ledger is written again")
	}
}

// ledgerNews is what the log was told of the ledger last, and when. While a little of
// a full disk is freed again and again, rows fail and succeed in turns.
type ledgerNews struct {
	failing bool
	at      time.Time // zero: nothing yet
}

// newsEvery is the shortest time between two of the ledger's news in the log.
const newsEvery = time.Minute

// tells reports whether a write that failed, or succeeded, is news, and takes it for
// told.
func (n *ledgerNews) tells(failed bool, now time.Time) bool {
	if failed == n.failing || !n.at.IsZero() && now.Sub(n.at) < newsEvery {
		return false
	}
	n.failing, n.at = failed, now
	return true
}

func (l *ledger) close() error { return l.file.Close() }
