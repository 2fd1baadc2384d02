//go:build unix

package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"text/tabwriter"

	"github.com/klauspost/compress/zstd"

	"github.com/seed-91e7e7c1/corona/deltas"
)

// feedFigures are what became of a document of a collection.
type feedFigures struct {
	Document     string  `json:"document"`
	Bytes        int     `json:"bytes"`
	Result       string  `json:"result"` // kind, or type of the error
	Entries      int     `json:"entries"`
	Milliseconds float64 `json:"milliseconds"` // of the processor, the least of three
	Allocated    uint64  `json:"allocated"`    // bytes, garbage included: more than are ever in use
	typed        bool
}

// readFeeds reads each document of a tar.zst.
func readFeeds(path string) ([]feedFigures, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	unpacked, err := zstd.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer unpacked.Close()
	var all []feedFigures
	for archive := tar.NewReader(unpacked); ; {
		header, err := archive.Next()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		body, err := io.ReadAll(io.LimitReader(archive, deltas.MaxDocument+1))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if header.Typeflag == tar.TypeReg {
			all = append(all, readFeed(header.Name, body))
		}
	}
}

func readFeed(name string, body []byte) feedFigures {
	f := feedFigures{Document: name, Bytes: len(body)}
	var core *deltas.Core
	var err error
	for n := range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		took := 1000 * cpuSeconds(func() { core, err = deltas.Extract(deltas.Document{Body: body}) })
		runtime.ReadMemStats(&after)
		if n == 0 || took < f.Milliseconds {
			f.Milliseconds = took
		}
		f.Allocated = max(f.Allocated, after.TotalAlloc-before.TotalAlloc)
	}
	if err == nil {
		f.Result, f.Entries, f.typed = core.Kind.String(), len(core.Entries), true
		return f
	}
	f.Result, f.typed = errorType(err)
	return f
}

// errorType names an error's type; false if it is none that Extract promises.
func errorType(err error) (string, bool) {
	var parse *deltas.ParseError
	switch {
	case errors.As(err, &parse):
		return "ParseError: " + parse.Error(), true
	case errors.Is(err, deltas.ErrEmpty):
		return "ErrEmpty", true
	case errors.Is(err, deltas.ErrTooLarge):
		return "ErrTooLarge", true
	}
	return err.Error(), false
}

func printFeeds(w io.Writer, all []feedFigures) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "DOCUMENT\tBYTES\tENTRIES\tCPU MS\tALLOCATED\tRESULT")
	for _, f := range all {
		fmt.Fprintf(t, "%s\t%d\t%d\t%.2f\t%d\t%.100s\n", f.Document, f.Bytes, f.Entries, f.Milliseconds, f.Allocated, f.Result)
	}
	t.Flush()
}
