package disk

import (
	"context"
	"errors"

	"github.com/cockroachdb/pebble/v2"
)

// Excise takes the records of a span out of the files of a store, durably, without reading
// those inside. Its error is ErrCorrupt if damage is where files are cut; then nothing has
// changed.
func Excise(db *pebble.DB, span pebble.KeyRange) error {
	if err := CheckCuts(db, span); err != nil {
		return err
	}
	return ReadError("take records out of a store", db.Excise(context.Background(), span))
}

// CheckCuts returns ErrCorrupt if the blocks at the ends of a span cannot be read. It is to
// be called before any excise: pebble (v2.1.7, determineLeftTableBounds) takes a block there
// that it cannot read for the end of the file, and drops what lies beyond it without a word.
func CheckCuts(db *pebble.DB, span pebble.KeyRange) error {
	iter, err := db.NewIter(nil)
	if err != nil {
		return ReadError("look at the ends of records to be taken out", err)
	}
	iter.SeekLT(span.Start)
	err = iter.Error()
	if err == nil {
		iter.SeekGE(span.End)
		err = iter.Error()
	}
	return ReadError("look at the ends of records to be taken out", errors.Join(err, iter.Close()))
}
