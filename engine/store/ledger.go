package store

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

// Ledger is a crash-safe log of last request times: a file with a row for each
// channel, when it was last asked and until when it is to be spared, and for hosts
// that rest. A row is written before its request goes out, by one write that is not
// synced: a kill loses nothing, a power failure what was not on disk yet. Losing
// all of it costs a poll too early of each channel, and no content.
//
// Its writing methods may be called concurrently, for different rows.
//
// The file is an array of rows of 64 bytes. Each begins with the CRC-32C of its
// other 60 bytes; then comes one byte that says what it is. Numbers are little
// endian, times nanoseconds since 1970.
//
//	row 0     the header: 'L', 3 bytes of 0, format (uint32), 52 bytes of 0
//	others    'c' and a channel, 'h' and a host (row.go), or 64 bytes of 0: free
//
// A row that is neither is as good as free: its write was cut short.
type Ledger struct {
	// Partial says that channels of an earlier run may be missing: the file was made
	// again, or rows could not be read. It is set by [OpenLedger].
	Partial bool

	file    vfs.File
	logger  *slog.Logger
	buffers sync.Pool   // of *ledgerRow: a write must not allocate
	failing atomic.Bool // a log line may be due: else a write that succeeds does not take mu
	mu      struct {
		sync.Mutex
		log failureLog
	}
	metrics *Metrics
}

// ledgerRow is a row as it is in the file.
type ledgerRow [RowLen]byte

const (
	LedgerFile = "ledger" // in [Config.Dir]
	RowLen     = 64       // bytes of a row of it

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

// Rows receives the rows of a ledger when it is opened, in their order. The rows
// that the pointers lead to are used again for the next.
type Rows interface {
	Channel(number int32, row *ChannelRow)
	Host(number int32, row *HostRow)
	Free(number int32) // it says nothing, or cannot be read
}

// OpenLedger opens the ledger beside the content cache, or makes one, and gives rows
// what it holds. Its error is a [*datadir.FormatError] or one of the file system.
func OpenLedger(config Config, metrics *Metrics, rows Rows) (*Ledger, error) {
	name := config.FS.PathJoin(config.Dir, LedgerFile)
	l := &Ledger{logger: config.Logger, metrics: metrics}
	l.buffers.New = func() any { return new(ledgerRow) }
	var err error
	if l.file, err = config.FS.OpenReadWrite(name, vfs.WriteCategoryUnspecified); err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	format, err := readLedgerFormat(l.file)
	switch {
	case err != nil:
	case format == 0:
		err = l.create(config.FS, name)
	default:
		err = l.read(rows)
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

// create replaces the file, so that nothing of another one is left in it.
func (l *Ledger) create(fs vfs.FS, name string) (err error) {
	l.Partial = true
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
	l.writeAt(0, &header)
	return nil
}

// read gives rows each row but the header. What cannot be read is counted.
func (l *Ledger) read(rows Rows) error {
	info, err := l.file.Stat()
	if err != nil {
		return fmt.Errorf("size of the ledger: %w", err)
	}
	if info.Size()%RowLen != 0 {
		l.lost()
	}
	count := int32(min(info.Size()/RowLen, mostRows))
	const chunk = 1024
	buffer := make([]byte, chunk*RowLen)
	for first := int32(1); first < count; first += chunk {
		part := buffer[:min(chunk, count-first)*RowLen]
		if _, err := l.file.ReadAt(part, int64(first)*RowLen); err != nil {
			return fmt.Errorf("read the ledger: %w", err)
		}
		for i := range int32(len(part) / RowLen) {
			l.readRow(first+i, (*ledgerRow)(part[i*RowLen:]), rows)
		}
	}
	return nil
}

func (l *Ledger) readRow(number int32, row *ledgerRow, rows Rows) {
	switch {
	case *row == (ledgerRow{}):
		rows.Free(number)
	case !row.intact():
		l.lost()
		rows.Free(number)
	case row[4] == channelKind:
		channel := readChannelRow(row)
		rows.Channel(number, &channel)
	case row[4] == hostKind:
		host := readHostRow(row)
		rows.Host(number, &host)
	default:
		rows.Free(number)
	}
}

// lost counts a row that cannot be read.
func (l *Ledger) lost() {
	l.Partial = true
	l.metrics.ledgerLost.Inc()
}

// WriteChannel writes what is known of a channel. A failure is counted and logged,
// and polling goes on. Row 0 stands for none, and is not written.
func (l *Ledger) WriteChannel(number int32, r *ChannelRow) {
	row := l.buffers.Get().(*ledgerRow)
	*row = ledgerRow{}
	r.fill(row)
	row.seal()
	l.write(number, row)
	l.buffers.Put(row)
}

// WriteHost writes what is known of a host, as WriteChannel does.
func (l *Ledger) WriteHost(number int32, r *HostRow) {
	row := new(ledgerRow)
	r.fill(row)
	row.seal()
	l.write(number, row)
}

// Clear makes a row free.
func (l *Ledger) Clear(number int32) { l.write(number, new(ledgerRow)) }

func (l *Ledger) write(number int32, row *ledgerRow) {
	if number == 0 {
		return
	}
	l.writeAt(int64(number)*RowLen, row)
}

func (l *Ledger) writeAt(offset int64, row *ledgerRow) {
	_, err := l.file.WriteAt(row[:], offset)
	if err != nil {
		l.metrics.ledgerErrors.Inc()
	} else if !l.failing.Load() {
		return // as ever
	}
	l.logChange(err)
}

// logChange logs that writes fail, or succeed again.
func (l *Ledger) logChange(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	due := l.mu.log.due(err != nil, time.Now())
	l.failing.Store(err != nil || l.mu.log.failing)
	switch {
	case !due:
	case err != nil:
		l.logger.Error("ledger cannot be written: floors and resting hosts are forgotten if the process ends", "error", err)
	default:
		l.logger.Info("ledger is written again")
	}
}

// failureLog is what the log last said of the ledger, and when. While a little of a
// full disk is freed again and again, rows fail and succeed in turns.
type failureLog struct {
	failing bool
	at      time.Time // zero: nothing yet
}

// logEvery is the shortest time between two log lines on the ledger.
const logEvery = time.Minute

// due reports whether a write that failed, or succeeded, is to be logged, and takes
// it for logged.
func (n *failureLog) due(failed bool, now time.Time) bool {
	if failed == n.failing || !n.at.IsZero() && now.Sub(n.at) < logEvery {
		return false
	}
	n.failing, n.at = failed, now
	return true
}

// Close closes the file.
func (l *Ledger) Close() error { return l.file.Close() }
