package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strings"
	"text/tabwriter"
)

// RowList prints items as they come: as a table, or as JSON. The caller calls Close
// after the last.
type RowList[T any] struct {
	Add   func(T) error
	Close func() error
}

// Print adds what items yields, whose errors are the node's, and closes the list.
func (l RowList[T]) Print(items iter.Seq2[T, error]) error {
	for item, err := range items {
		if err != nil {
			return NodeError(err)
		}
		if err := l.Add(item); err != nil {
			return err
		}
	}
	return l.Close()
}

// NewJSONRows returns a list that is printed as an object with one field of this name.
func NewJSONRows[T any](w io.Writer, name string) RowList[T] {
	rows := NewJSONList(w, name)
	return RowList[T]{
		Add:   func(item T) error { return rows.Add(item) },
		Close: func() error { return rows.Close(struct{}{}) },
	}
}

// JSONList prints an object with a list whose items need not be in memory
// together, one item a line.
type JSONList struct {
	w     *bufio.Writer
	Items int // added so far
}

// NewJSONList begins an object on w whose first field, the list, has this name.
func NewJSONList(w io.Writer, name string) *JSONList {
	list := &JSONList{w: bufio.NewWriter(w)}
	fmt.Fprintf(list.w, "{%q:[", name)
	return list
}

// Add prints an item.
func (l *JSONList) Add(item any) error {
	if l.Items++; l.Items > 1 {
		l.w.WriteByte(',')
	}
	l.w.WriteByte('\n')
	var line strings.Builder
	if err := PrintJSONLine(&line, item); err != nil {
		return err
	}
	_, err := l.w.WriteString(strings.TrimSuffix(line.String(), "\n"))
	return err
}

// Close ends the list and adds the fields that are not nil or empty behind it.
func (l *JSONList) Close(rest any) error {
	l.w.WriteString("]")
	fields, err := json.Marshal(rest)
	if err != nil {
		return err
	}
	if inner := strings.TrimSuffix(strings.TrimPrefix(string(fields), "{"), "}"); inner != "" {
		l.w.WriteString("," + inner)
	}
	l.w.WriteString("}\n")
	return l.w.Flush()
}

// tableBlock is how many rows of a table are aligned, and in memory, together.
const tableBlock = 1000

// Table prints rows in columns.
type Table struct {
	w    *tabwriter.Writer
	rows int
}

// NewTable begins a table on w with a row of titles.
func NewTable(w io.Writer, header ...string) *Table {
	t := &Table{w: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	fmt.Fprintln(t.w, strings.Join(header, "\t"))
	return t
}

// Add prints a row; control characters in cells become visible escapes.
func (t *Table) Add(cells ...any) error {
	texts := make([]string, len(cells))
	for i, cell := range cells {
		texts[i] = Clean(fmt.Sprint(cell))
	}
	fmt.Fprintln(t.w, strings.Join(texts, "\t"))
	if t.rows++; t.rows%tableBlock == 0 {
		return t.w.Flush()
	}
	return nil
}

// Close aligns and passes on the rows that are left.
func (t *Table) Close() error { return t.w.Flush() }
