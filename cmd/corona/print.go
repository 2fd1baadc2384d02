package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/vbauerster/mpb/v8/cwriter"
)

// printJSON prints one value for programs, indented.
func printJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// printJSONLine prints one value on one line.
func printJSONLine(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// jsonList prints an object with a list whose items need not be in memory
// together, one item a line.
type jsonList struct {
	w     *bufio.Writer
	items int
}

func newJSONList(w io.Writer, name string) *jsonList {
	list := &jsonList{w: bufio.NewWriter(w)}
	fmt.Fprintf(list.w, "{%q:[", name)
	return list
}

func (l *jsonList) add(item any) error {
	if l.items++; l.items > 1 {
		l.w.WriteByte(',')
	}
	l.w.WriteByte('\n')
	var line strings.Builder
	if err := printJSONLine(&line, item); err != nil {
		return err
	}
	_, err := l.w.WriteString(strings.TrimSuffix(line.String(), "\n"))
	return err
}

// close ends the list and adds the fields that are not nil or empty behind it.
func (l *jsonList) close(rest any) error {
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

// table prints rows in columns.
type table struct {
	w    *tabwriter.Writer
	rows int
}

func newTable(w io.Writer, header ...string) *table {
	t := &table{w: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	fmt.Fprintln(t.w, strings.Join(header, "\t"))
	return t
}

func (t *table) add(cells ...any) error {
	texts := make([]string, len(cells))
	for i, cell := range cells {
		texts[i] = clean(fmt.Sprint(cell))
	}
	fmt.Fprintln(t.w, strings.Join(texts, "\t"))
	if t.rows++; t.rows%tableBlock == 0 {
		return t.w.Flush()
	}
	return nil
}

func (t *table) close() error { return t.w.Flush() }

// fact prints a line of a description: a name and what there is to say.
func fact(w io.Writer, name, format string, args ...any) {
	fmt.Fprintf(w, "%-14s %s\n", name, clean(fmt.Sprintf(format, args...)))
}

// isTerminal reports whether a command's input or output is a terminal.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && cwriter.IsTerminal(int(file.Fd()))
}

// wantsColour reports whether to colour what is printed on w (no-color.org).
func wantsColour(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
