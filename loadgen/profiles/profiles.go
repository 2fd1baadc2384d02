// Package profiles keeps the profiles that nodes were asked for in a run, and draws what they
// show: tables of functions, shares of a node's parts, a flame graph.
package profiles

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// The kinds of profile.
const (
	CPU       = "cpu"       // where the processor's time went
	Heap      = "heap"      // where the memory in use was allocated
	Mutex     = "mutex"     // which holders of locks others waited for
	Goroutine = "goroutine" // what all goroutines were doing

	// Live is a heap right after a collection. It is no kind that a scenario takes.
	Live = "heap?gc=1"
)

// Kinds returns all kinds, in the order in which they are shown.
func Kinds() []string { return []string{CPU, Heap, Mutex, Goroutine} }

// path returns where a node serves a kind, with the query that asks for what happens in so
// many seconds; heap and goroutine are of an instant.
func path(kind string, seconds int) string {
	switch kind {
	case CPU:
		return fmt.Sprintf("/debug/pprof/profile?seconds=%d", seconds)
	case Mutex:
		return fmt.Sprintf("/debug/pprof/mutex?seconds=%d", seconds)
	}
	return "/debug/pprof/" + kind
}

// Lasts reports whether a kind is of a time, not of an instant.
func Lasts(kind string) bool { return kind == CPU || kind == Mutex }

// File returns the name of the file that holds a node's profile in a result's folder.
func File(node, kind string) string { return "profile-" + node + "-" + kind + ".pb.gz" }

// maxFile bounds a profile, in bytes.
const maxFile = 256 << 20

// answerWithin is how long a node may take beside the time that is profiled.
const answerWithin = 20 * time.Second

// Fetch asks a node, by its URL, for the profile of a kind; a token may be empty. It returns
// the profile as it is kept in files.
func Fetch(ctx context.Context, node, token, kind string, seconds int) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second+answerWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(node, "/")+path(kind, seconds), nil)
	if err != nil {
		return nil, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", request.URL.Redacted(), response.Status)
	}
	content, err := io.ReadAll(io.LimitReader(response.Body, maxFile+1))
	if err == nil && len(content) > maxFile {
		err = fmt.Errorf("%s: longer than %d bytes", request.URL.Redacted(), maxFile)
	}
	return content, err
}

// Read reads a file.
func Read(file string) (*profile.Profile, error) {
	info, err := os.Stat(file)
	if err == nil && info.Size() > maxFile {
		err = fmt.Errorf("longer than %d bytes", maxFile)
	}
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	p, err := profile.ParseData(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}

// ReadFolder reads the profiles of a kind, of all nodes and runs in a folder, as one. out/a
// that is no folder stands for out/a-1, out/a-2 and so on.
func ReadFolder(folder, kind string) (*profile.Profile, error) {
	name := File("*", kind)
	var files []string
	for _, pattern := range []string{filepath.Join(folder, name), filepath.Join(folder, "*", name), filepath.Join(folder+"-[0-9]*", name)} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		if files = found; len(files) > 0 {
			break
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: no %s profile there; a scenario with \"profiles: [%s]\" leaves them", folder, kind, kind)
	}
	slices.Sort(files)
	all := make([]*profile.Profile, 0, len(files))
	for _, file := range files {
		p, err := Read(file)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return profile.Merge(all)
}
