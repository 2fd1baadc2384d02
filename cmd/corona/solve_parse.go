package main

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"strconv"
)

// A chunk is the rows of a block, up to the first that is bad.
type chunk struct {
	layout *layout
	block  block
	size   int64         // bytes
	parsed chan struct{} // closed when the rest is there

	rows   int
	names  []nameAt    // of channels; of the bad row too, if it has one
	hosts  []nameAt    // as many as rows, if hosts are kept
	values [][]float64 // by column, as the layout has them
	text   []byte      // of names and hosts
	err    error
}

// nameAt is a name in a chunk's text.
type nameAt struct {
	start, end int32
	line       int
	hash       uint64
}

func (n nameAt) in(c *chunk) []byte { return c.text[n.start:n.end] }

// begin empties a chunk for a block, of which so many bytes are rows.
func (c *chunk) begin(b block, size int) {
	c.block, c.size, c.parsed, c.rows = b, int64(size), make(chan struct{}), 0
	c.names, c.hosts, c.text = c.names[:0], c.hosts[:0], c.text[:0]
	for i := range c.values {
		c.values[i] = c.values[i][:0]
	}
}

// parse reads the rows of a block.
func (c *chunk) parse(csv *csvReader) {
	for c.err == nil {
		fields, err := csv.read()
		if err == io.EOF {
			return
		}
		if err != nil {
			c.err = c.layout.unreadable(err, csv.line)
			return
		}
		c.err = c.row(fields, csv.line)
	}
}

// row takes in one channel.
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
	c.names = append(c.names, c.keep(fields[l.channel], line))
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
	if l.host >= 0 {
		c.hosts = append(c.hosts, c.keep(fields[l.host], line))
	}
	c.rows++
	return nil
}

func (c *chunk) keep(name []byte, line int) nameAt {
	start := int32(len(c.text))
	c.text = append(c.text, name...)
	return nameAt{start, int32(len(c.text)), line, maphash.Bytes(c.layout.seed, name)}
}

func (l *layout) bad(line int, column, reason string) error {
	return &badRow{l.file, line, column, reason}
}

// unreadable says where a record could not be read.
func (l *layout) unreadable(err error, line int) error {
	switch err {
	case errInterrupted:
		return err
	case errLongRecord, errBareQuote, errOpenQuote, errAfterQuote:
		return l.bad(line, "", err.Error())
	}
	return fmt.Errorf("%s: %w", l.file, err)
}

const missing = "is missing"

// parseValue reads a decimal number that a solve can use; reason says why not.
func parseValue(field []byte) (value float64, reason string) {
	if whole, ok := parseWhole(field); ok {
		return whole, ""
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

// parseWhole reads up to 15 digits, which a float64 holds exactly: most fields
// are.
func parseWhole(field []byte) (float64, bool) {
	if len(field) == 0 || len(field) > 15 {
		return 0, false
	}
	var whole uint64
	for _, c := range field {
		if c < '0' || c > '9' {
			return 0, false
		}
		whole = whole*10 + uint64(c-'0')
	}
	return float64(whole), true
}

// brief quotes a field for a message.
func brief(field []byte) string {
	const most = 60
	if len(field) > most {
		return strconv.Quote(string(field[:most])) + "…"
	}
	return strconv.Quote(string(field))
}
