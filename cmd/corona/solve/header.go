package solve

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// header finds the columns. It returns what follows of the block that has it.
func (r *rowReader) header(keep solveColumns) (*csvReader, error) {
	for {
		b, err := r.blocks.next()
		if err == io.EOF {
			return nil, fmt.Errorf("%s is empty: a header with the names of the columns is missing", r.layout.file)
		}
		if err != nil {
			return nil, r.layout.unreadable(err, 0)
		}
		csv := newCSVReader(b)
		fields, err := csv.read()
		switch {
		case err == io.EOF: // blank lines
		case err != nil:
			return nil, r.layout.unreadable(err, csv.line)
		default:
			return csv, r.named(fields, csv.line, keep)
		}
	}
}

// named reads the names of the columns.
func (r *rowReader) named(fields [][]byte, line int, keep solveColumns) error {
	seen := make(map[string]bool)
	for _, field := range fields {
		name := strings.TrimSpace(string(field))
		if seen[name] {
			return r.layout.bad(line, strconv.Quote(name), "is in the header twice")
		}
		seen[name] = true
		r.layout.names = append(r.layout.names, name)
	}
	return r.columns(line, keep)
}

// columns places the columns that a header names.
func (r *rowReader) columns(line int, keep solveColumns) error {
	ch, l := &r.input.channels, &r.layout
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
	l.channel, l.host = slices.Index(l.names, "channel"), slices.Index(l.names, "host")
	if l.channel < 0 {
		return l.bad(line, "channel", "is missing in the header")
	}
	for _, column := range known {
		column.field = slices.Index(l.names, column.name)
		if column.field < 0 && column.asked {
			return l.bad(line, column.name, "is missing in the header")
		}
		if column.field >= 0 {
			l.values = append(l.values, column)
		}
	}
	r.input.unused = slices.DeleteFunc(slices.Clone(l.names), func(name string) bool {
		return name == "channel" || name == "host" ||
			slices.ContainsFunc(known, func(column valueField) bool { return column.name == name })
	})
	return r.chooseHosts(line, keep.hosts)
}

func (r *rowReader) chooseHosts(line int, keep bool) error {
	switch {
	case !keep:
		r.layout.host = -1
	case r.layout.host < 0:
		return r.layout.bad(line, "host", "is missing in the header, and --host-cap needs it")
	default:
		r.hosts = make(map[string]int32)
	}
	r.layout.kind()
	return nil
}

// kind says of each field what it is.
func (l *layout) kind() {
	l.kinds = slices.Repeat([]int{unusedField}, len(l.names))
	l.kinds[l.channel] = channelField
	if l.host >= 0 {
		l.kinds[l.host] = hostField
	}
	for i, column := range l.values {
		l.kinds[column.field] = i
	}
}
