package backup

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
	"github.com/seed-91e7e7c1/corona/ownership/internal/transfer"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// Writer writes a backup, range by range in the order of their buckets. It checks the
// records that it writes as a [Reader] does.
type Writer struct {
	archive *transfer.ArchiveWriter
	counts  Counts
}

// NewWriter begins a backup. Its header gets an ID.
func NewWriter(to io.Writer, header *wire.BackupHeader) (*Writer, error) {
	header.Id = make([]byte, 16)
	_, _ = rand.Read(header.Id) // never fails
	archive, err := transfer.NewArchiveWriter(to, header)
	return &Writer{archive: archive}, err
}

// Range adds the state of a range, a stream of package transfer.
func (w *Writer) Range(r channel.Range, stream io.Reader, now time.Time) error {
	err := w.archive.Begin(&wire.BackupSection{Range: r.ID, From: uint32(r.From), To: uint32(r.To), ReadUs: wire.Micros(now)})
	if err != nil {
		return err
	}
	in, err := transfer.NewReader(io.TeeReader(stream, w.archive))
	if err != nil {
		return err
	}
	defer in.Close()
	if h := in.Header(); h.From != uint32(r.From) || h.To != uint32(r.To) {
		return fmt.Errorf("range %d has buckets %d to %d now, not %d to %d: back up again", r.ID, h.From, h.To, r.From, r.To)
	}
	inventory := state.NewInventory(r.From, r.To)
	for {
		key, value, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = inventory.Add(key, value)
		}
		if err != nil {
			return err
		}
	}
	counts, _, err := inventory.End()
	w.counts = w.counts.Plus(counts)
	return errors.Join(err, w.archive.End())
}

// Fail ends the file with the reason why it is not a backup.
func (w *Writer) Fail(reason error) error { return w.archive.Fail(reason) }

// Close ends the backup: without it there is none.
func (w *Writer) Close() error {
	c := w.counts
	return w.archive.Close(&wire.BackupTrailer{
		Records: c.Records, Bytes: c.Bytes, Channels: c.Channels, Subscriptions: c.Subscriptions,
		Updates: c.Updates, Endpoints: c.Endpoints, Keys: c.Keys, Positions: c.Positions,
	})
}

func countsOf(t *wire.BackupTrailer) Counts {
	return Counts{
		Records: t.Records, Bytes: t.Bytes, Channels: t.Channels, Subscriptions: t.Subscriptions,
		Updates: t.Updates, Endpoints: t.Endpoints, Keys: t.Keys, Positions: t.Positions,
	}
}
