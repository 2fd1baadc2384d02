package solve

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"runtime"
	"slices"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/honeycomb"
)

// solveInput is a file of channels, in columns.
type solveInput struct {
	names    *nameList
	channels honeycomb.Channels
	unused   []string // columns that mean nothing here
}

// solveColumns says which of the columns are kept; the others are only checked.
type solveColumns struct{ sizes, hosts bool }

// A badRow says what is wrong with a file of channels, and where.
type badRow struct {
	file   string
	line   int    // from 1
	column string // "": the line as a whole
	reason string
}

func (e *badRow) Error() string {
	if e.column == "" {
		return fmt.Sprintf("%s: line %d %s", e.file, e.line, e.reason)
	}
	return fmt.Sprintf("%s: line %d, column %s: %s", e.file, e.line, e.column, e.reason)
}

// rowReader reads a file of channels: it cuts blocks, has them parsed side by side,
// and joins what they have in the order of the file.
type rowReader struct {
	layout layout
	blocks *blockReader
	index  *nameIndex
	lines  []lineMark
	hosts  map[string]int32 // nil: not kept
	input  *solveInput
	tell   func(read int64, rows int) // how far it is

	read  int64    // bytes
	spare []*chunk // joined, to be used again
}

// A layout says what the fields of a row are.
type layout struct {
	file    string
	names   []string // of the columns
	kinds   []int    // by field: a place in values, or one of the below
	channel int      // its field
	host    int      // its field, −1: none is kept
	values  []valueField
	seed    maphash.Seed // of names and hosts
}

// What fields are that hold no number.
const (
	unusedField = -1 - iota
	channelField
	hostField
)

// valueField is a column of numbers.
type valueField struct {
	name   string
	field  int
	asked  bool       // it must not be empty
	values *[]float64 // nil: checked only
}

// readChannels reads a file of channels to its end, of so many bytes, 0 if that is
// not known. It tells how far it is from time to time.
func readChannels(ctx context.Context, file string, in io.Reader, size int64, keep solveColumns, tell func(read int64, rows int)) (*solveInput, error) {
	names := &nameList{}
	r := &rowReader{
		layout: layout{file: file, seed: maphash.MakeSeed()}, index: &nameIndex{names: names},
		blocks: &blockReader{in: in}, input: &solveInput{names: names}, tell: tell,
	}
	first, err := r.header(keep)
	if err != nil {
		return nil, err
	}
	err = r.body(ctx, first, size)
	if bad := new(badRow); err == nil || errors.As(err, &bad) {
		err = cmp.Or(r.repeated(), err) // its line comes before that of a bad row
	}
	if err != nil {
		return nil, err
	}
	return r.input, nil
}

// repeated says which name is there twice.
func (r *rowReader) repeated() error {
	name := r.index.first()
	if name == noRepeat {
		return nil
	}
	mark, found := slices.BinarySearchFunc(r.lines, name.row, func(m lineMark, row int) int { return m.row - row })
	if !found {
		mark--
	}
	return r.layout.bad(r.lines[mark].of(name.row), "channel",
		fmt.Sprintf("%s is there already, in data row %d", brief(r.input.names.at(name.row)), name.earlier+1))
}

// body reads the rows: the rest of a block, and all that follow.
func (r *rowReader) body(ctx context.Context, first *csvReader, size int64) (err error) {
	pending := []*chunk{r.parse(first, block{})}
	defer func() {
		for _, c := range pending {
			<-c.parsed
		}
	}()
	most := runtime.GOMAXPROCS(0) + 1
	for len(pending) > 0 {
		if ctx.Err() != nil {
			return cli.ErrInterrupted
		}
		b, err := r.blocks.next()
		switch {
		case err == nil:
			pending = append(pending, r.parse(newCSVReader(b), b))
			if len(pending) < most {
				continue
			}
		case err != io.EOF:
			return r.layout.unreadable(err, 0)
		}
		c := pending[0]
		<-c.parsed
		if err := r.join(c, size); err != nil {
			return err
		}
		pending = pending[1:]
	}
	return nil
}

// parse parses a block beside what else is done.
func (r *rowReader) parse(csv *csvReader, b block) *chunk {
	c := &chunk{layout: &r.layout, values: make([][]float64, len(r.layout.values))}
	if n := len(r.spare); n > 0 {
		c, r.spare = r.spare[n-1], r.spare[:n-1]
	}
	c.begin(b, len(csv.rest))
	go func() {
		defer close(c.parsed)
		c.parse(csv)
	}()
	return c
}

// join appends a chunk to the columns.
func (r *rowReader) join(c *chunk, size int64) error {
	rows := len(r.input.names.starts)
	r.read += c.size
	if rows == 0 && size > c.size && c.rows > 0 { // room for all
		r.grow(int(min(size*int64(c.rows)/c.size*9/8, maxRoom)))
	}
	r.index.add(bytes.Clone(c.text), c.names)
	for _, mark := range c.lines {
		r.lines = append(r.lines, lineMark{rows + mark.row, mark.line})
	}
	if c.err != nil {
		return c.err
	}
	begin := 0
	for _, end := range c.hostEnds {
		r.input.channels.Host = append(r.input.channels.Host, r.hostNumber(c.hosts[begin:end]))
		begin = end
	}
	for i, column := range r.layout.values {
		if column.values != nil {
			*column.values = append(*column.values, c.values[i]...)
		}
	}
	r.blocks.release(c.block)
	r.spare = append(r.spare, c)
	r.tell(r.read, rows+c.rows)
	return nil
}

// maxRoom is the most rows that room is made for before they are there.
const maxRoom = 1 << 26

// grow makes room for so many rows, before there are any. It leaves fresh memory
// untouched, which [slices.Grow] would clear.
func (r *rowReader) grow(rows int) {
	r.index.reserve(rows)
	for _, column := range r.layout.values {
		if column.values != nil {
			*column.values = make([]float64, 0, rows)
		}
	}
}

// hostNumber returns a host's number, −1 for none.
func (r *rowReader) hostNumber(host []byte) int32 {
	if len(host) == 0 {
		return -1
	}
	number, known := r.hosts[string(host)]
	if !known {
		number = int32(len(r.hosts))
		r.hosts[string(host)] = number
	}
	return number
}
