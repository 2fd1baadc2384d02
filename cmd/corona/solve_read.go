package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-91e7e7c1/corona/honeycomb"
)

// solveInput is a file of channels, in columns.
type solveInput struct {
	names    *nameSet // by row
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

// rowReader reads rows into columns.
type rowReader struct {
	csv     *csvReader
	file    string
	names   []string // of the columns
	channel int      // its field
	host    int      // its field, −1: none is kept
	hosts   *nameSet
	values  []valueField
	input   *solveInput
}

// valueField is a column of numbers.
type valueField struct {
	name   string
	field  int
	asked  bool       // it must not be empty
	values *[]float64 // nil: checked only
}

// readChannels reads a file of channels to its end.
func readChannels(ctx context.Context, file string, in io.Reader, keep solveColumns) (*solveInput, error) {
	r := &rowReader{csv: newCSVReader(in), file: file, input: &solveInput{names: newNameSet()}}
	if err := r.header(keep); err != nil {
		return nil, err
	}
	for rows := 0; ; rows++ {
		if rows%(1<<16) == 0 && ctx.Err() != nil {
			return nil, errInterrupted
		}
		fields, err := r.csv.read()
		if err == io.EOF {
			r.input.names.seal()
			return r.input, nil
		}
		if err != nil {
			return nil, r.unreadable(err)
		}
		if err := r.row(fields); err != nil {
			return nil, err
		}
	}
}

// header finds the columns.
func (r *rowReader) header(keep solveColumns) error {
	fields, err := r.csv.read()
	if err == io.EOF {
		return fmt.Errorf("%s is empty: a header with the names of the columns is missing", r.file)
	}
	if err != nil {
		return r.unreadable(err)
	}
	seen := make(map[string]bool)
	for _, field := range fields {
		name := strings.TrimSpace(string(field))
		if seen[name] {
			return r.bad(strconv.Quote(name), "is in the header twice")
		}
		seen[name] = true
		r.names = append(r.names, name)
	}
	return r.columns(r.names, keep)
}

// columns places the columns that a header names.
func (r *rowReader) columns(names []string, keep solveColumns) error {
	ch := &r.input.channels
	known := []valueField{
		{name: "subscribers", asked: true, values: &ch.Subscribers},
		{name: "size_bytes", asked: true, values: &ch.SizeBytes},
		{name: "update_interval_s", asked: true, values: &ch.UpdateInterval},
		{name: "min_rate", values: &ch.MinRate},
		{name: "max_rate", values: &ch.MaxRate},
	}
	if !keep.sizes {
		known[1].values = nil
	}
	r.channel, r.host = slices.Index(names, "channel"), slices.Index(names, "host")
	if r.channel < 0 {
		return r.bad("channel", "is missing in the header")
	}
	for _, column := range known {
		column.field = slices.Index(names, column.name)
		if column.field < 0 && column.asked {
			return r.bad(column.name, "is missing in the header")
		}
		if column.field >= 0 {
			r.values = append(r.values, column)
		}
	}
	r.input.unused = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return name == "channel" || name == "host" ||
			slices.ContainsFunc(known, func(column valueField) bool { return column.name == name })
	})
	return r.chooseHosts(keep.hosts)
}

func (r *rowReader) chooseHosts(keep bool) error {
	switch {
	case !keep:
		r.host = -1
	case r.host < 0:
		return r.bad("host", "is missing in the header, and --host-cap needs it")
	default:
		r.hosts = newNameSet()
	}
	return nil
}

// row takes in one channel.
func (r *rowReader) row(fields [][]byte) error {
	switch {
	case len(fields) < len(r.names):
		return r.bad(r.names[len(fields)], missing)
	case len(fields) > len(r.names):
		return r.bad("", fmt.Sprintf("has %d fields, the header %d", len(fields), len(r.names)))
	}
	name := fields[r.channel]
	if len(name) == 0 {
		return r.bad("channel", "is missing")
	}
	if number, fresh := r.input.names.add(name); !fresh {
		return r.bad("channel", fmt.Sprintf("%s is there already, in data row %d", brief(name), number+1))
	}
	for i := range r.values {
		column := &r.values[i]
		value, reason := parseValue(fields[column.field])
		if reason != "" && (column.asked || reason != missing) {
			return r.bad(column.name, reason)
		}
		if column.values != nil {
			*column.values = append(*column.values, value)
		}
	}
	if r.host >= 0 {
		r.input.channels.Host = append(r.input.channels.Host, r.hostNumber(fields[r.host]))
	}
	return nil
}

// hostNumber returns a host's number, −1 for none.
func (r *rowReader) hostNumber(host []byte) int32 {
	if len(host) == 0 {
		return -1
	}
	number, _ := r.hosts.add(host)
	return int32(number)
}

func (r *rowReader) bad(column, reason string) error {
	return &badRow{r.file, r.csv.line, column, reason}
}

// unreadable says where a record could not be read.
func (r *rowReader) unreadable(err error) error {
	switch err {
	case errInterrupted:
		return err
	case errLongRecord, errBareQuote, errOpenQuote, errAfterQuote:
		return r.bad("", err.Error())
	}
	return fmt.Errorf("%s: %w", r.file, err)
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
