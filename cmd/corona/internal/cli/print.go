package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/vbauerster/mpb/v8/cwriter"
)

// PrintJSON prints one value for programs, indented.
func PrintJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// PrintJSONLine prints one value on one line.
func PrintJSONLine(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// Fact prints a line of a description: a name and what there is to say.
func Fact(w io.Writer, name, format string, args ...any) {
	fmt.Fprintf(w, "%-14s %s\n", name, Clean(fmt.Sprintf(format, args...)))
}

// IsTerminal reports whether a command's input or output is a terminal.
func IsTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && cwriter.IsTerminal(int(file.Fd()))
}

// wantsColour reports whether to colour what is printed on w (no-color.org).
func wantsColour(w io.Writer) bool {
	return IsTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
