package solve

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"strconv"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
)

// A chunk is the rows of a block, up to the first that is bad.
type chunk struct {
	layout *layout
	block  block
	size   int64         // bytes
	parsed chan struct{} // closed when the rest is there

	rows     int
	text     []byte      // of names
	names    []uint64    // hash<<32 | start in text; of the bad row too, if it has one
	lines    []lineMark  // of names
	hosts    []byte      // one after another
	hostEnds []int       // as many as rows, if hosts are kept
	values   [][]float64 // by column, as the layout has them
	err      error
}

// begin empties a chunk for a block, of which so many bytes are rows.
func (c *chunk) begin(b block, size int) {
	c.block, c.size, c.parsed, c.rows = b, int64(size), make(chan struct{}), 0
	c.text, c.names, c.lines = c.text[:0], c.names[:0], c.lines[:0]
	c.hosts, c.hostEnds = c.hosts[:0], c.hostEnds[:0]
	for i := range c.values {
		c.values[i] = c.values[i][:0]
	}
}

// parse reads the rows of a block.
func (c *chunk) parse(csv *csvReader) {
	for c.err == nil {
		line, plain, err := csv.begin()
		if err == io.EOF {
			return
		}
		if err == nil && plain && c.plainRow(line, csv.line) {
			continue
		}
		var fields [][]byte
		if err == nil {
			fields, err = csv.split(line, plain)
		}
		if err != nil {
			c.err = c.layout.unreadable(err, csv.line)
			return
		}
		c.err = c.row(fields, csv.line)
	}
}

// plainRow reads the channel of a line without quotes, in one pass. It returns
// false where the row is bad: [chunk.row] says why.
func (c *chunk) plainRow(line []byte, number int) bool {
	var name, host []byte
	last := len(c.layout.kinds) - 1
	for i, kind := range c.layout.kinds {
		end, good := 0, true
		if kind >= 0 {
			end, good = c.plainValue(kind, line)
		} else {
			end = fieldEnd(line)
		}
		if !good || (end == len(line)) != (i == last) {
			return false
		}
		switch kind {
		case channelField:
			name = line[:end]
		case hostField:
			host = line[:end]
		}
		line = line[min(end+1, len(line)):]
	}
	if len(name) == 0 {
		return false
	}
	c.keep(name, number)
	c.took(host)
	return true
}

// plainValue reads a number, and returns where its field ends, and whether it is good.
func (c *chunk) plainValue(column int, line []byte) (end int, good bool) {
	f := &c.layout.values[column]
	value, end, reason := firstValue(line)
	if f.values != nil {
		c.values[column] = append(c.values[column], value)
	}
	return end, reason == "" || reason == missing && !f.asked
}

// firstValue reads the number in the first field of a line without quotes, as
// [parseValue] does, and returns where the field ends.
func firstValue(line []byte) (value float64, end int, reason string) {
	if len(line) == 0 || line[0] == ',' {
		return 0, 0, missing
	}
	value, end = parseShort(line)
	if end == len(line) || end > 0 && line[end] == ',' {
		return value, end, ""
	}
	end = fieldEnd(line)
	value, reason = parseValue(line[:end])
	return value, end, reason
}

// fieldEnd returns where the first field of a line without quotes ends.
func fieldEnd(line []byte) int {
	if comma := bytes.IndexByte(line, ','); comma >= 0 {
		return comma
	}
	return len(line)
}

// row reads one channel.
func (c *chunk) row(fields [][]byte, line int) error {
	l := c.layout
	switch {
	case len(fields) < len(l.names):
		return l.bad(line, l.names[len(fields)], missing)
	case len(fields) > len(l.names):
		return l.bad(line, "", fmt.Sprintf("has %d fields, the header %d", len(fields), len(l.names)))
	case len(fields[l.channel]) == 0:
		return l.bad(line, "channel", missing)
	}
	c.keep(fields[l.channel], line)
	for i := range l.values {
		column := &l.values[i]
		value, reason := parseValue(fields[column.field])
		if reason != "" && (column.asked || reason != missing) {
			return l.bad(line, column.name, reason)
		}
		if column.values != nil {
			c.values[i] = append(c.values[i], value)
		}
	}
	var host []byte
	if l.host >= 0 {
		host = fields[l.host]
	}
	c.took(host)
	return nil
}

// keep stores the name of a row.
func (c *chunk) keep(name []byte, line int) {
	if row := len(c.names); len(c.lines) == 0 || c.lines[len(c.lines)-1].of(row) != line {
		c.lines = append(c.lines, lineMark{row, line})
	}
	c.names = append(c.names, maphash.Bytes(c.layout.seed, name)>>32<<32|uint64(len(c.text)))
	c.text = append(c.text, name...)
}

// took counts a row, all of which is taken in but its host.
func (c *chunk) took(host []byte) {
	if c.layout.host >= 0 {
		c.hosts = append(c.hosts, host...)
		c.hostEnds = append(c.hostEnds, len(c.hosts))
	}
	c.rows++
}

// A lineMark says in which line a row begins; those after it, up to the next mark,
// have one line each.
type lineMark struct{ row, line int }

func (m lineMark) of(row int) int { return m.line + row - m.row }

func (l *layout) bad(line int, column, reason string) error {
	return &badRow{l.file, line, column, reason}
}

// unreadable says where a record could not be read.
func (l *layout) unreadable(err error, line int) error {
	switch err {
	case cli.ErrInterrupted:
		return err
	case errLongRecord, errBareQuote, errOpenQuote, errAfterQuote:
		return l.bad(line, "", err.Error())
	}
	return fmt.Errorf("%s: %w", l.file, err)
}

const missing = "is missing"

// parseValue reads a decimal number that a solve can use; reason says why not.
func parseValue(field []byte) (value float64, reason string) {
	if value, length := parseShort(field); length > 0 && length == len(field) {
		return value, ""
	}
	text := bytes.TrimSpace(field)
	if len(text) == 0 {
		return 0, missing
	}
	value, err := strconv.ParseFloat(string(text), 64)
	switch {
	case value != value:
		return 0, "is not a number (NaN)"
	case err != nil && !errors.Is(err, strconv.ErrRange) || bytes.ContainsAny(text, "xX_"):
		return 0, brief(text) + " is not a number"
	case value < 0:
		return 0, brief(text) + " is negative"
	case value != 0 && (value < smallestValue || value > largestValue):
		return 0, brief(text) + " is out of range: 0, or from 1e-100 to 1e100"
	}
	return value, ""
}

// The sizes of numbers that package honeycomb computes with.
const (
	smallestValue = 1e-100
	largestValue  = 1e100
)

// brief quotes a field for a message.
func brief(field []byte) string {
	const most = 60
	if len(field) > most {
		return strconv.Quote(string(field[:most])) + "…"
	}
	return strconv.Quote(string(field))
}
