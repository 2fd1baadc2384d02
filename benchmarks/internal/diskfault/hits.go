package diskfault

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Hit is a system call that was made to fail or to wait.
type Hit struct {
	At   time.Time // when it was entered, by the wall clock
	Call string
	Path string // of the file
}

// Trace is what was seen of a process.
type Trace struct {
	Hits []Hit // in order
	// Exited is when it ended by itself with a code other than 0, by the wall clock;
	// zero if it did not.
	Exited time.Time
}

// parse reads strace's log (-f -ttt -y): lines such as
//
//	2016  1795189314.344040 fdatasync(18</data/000011.log>) = -1 EIO (Input/output error) (INJECTED)
//	2016  1795189314.344040 fdatasync(18</data/000011.log> <unfinished ...>
//	2016  1795189314.347047 <... fdatasync resumed>) = -1 EIO (Input/output error) (INJECTED)
//	2016  1795189314.349131 +++ exited with 3 +++
//
// Where calls are delayed all of them are hits: those that the process did not live
// to see the end of are not marked. The last line may be cut short.
func parse(log io.Reader, delays bool) (trace Trace, err error) {
	begun := make(map[string]Hit) // by thread
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		thread, rest, _ := strings.Cut(lines.Text(), " ")
		stamp, rest, whole := strings.Cut(strings.TrimLeft(rest, " "), " ")
		if !whole {
			continue
		}
		at, err := readStamp(stamp)
		if err != nil {
			return trace, fmt.Errorf("strace's log: %q: %w", lines.Text(), err)
		}
		var code int
		switch n, _ := fmt.Sscanf(rest, "+++ exited with %d", &code); {
		case n == 1 && code != 0 && trace.Exited.IsZero():
			trace.Exited = at
		case !strings.HasPrefix(rest, "+++"):
			trace.call(thread, rest, at, begun, delays)
		}
	}
	slices.SortFunc(trace.Hits, func(a, b Hit) int { return a.At.Compare(b.At) })
	return trace, lines.Err()
}

// call takes a line about a call, which may be its beginning or its end alone.
func (t *Trace) call(thread, text string, at time.Time, begun map[string]Hit, delays bool) {
	hit, resumed := begun[thread], strings.HasPrefix(text, "<... ")
	delete(begun, thread)
	if !resumed {
		hit = readCall(text)
		hit.At = at
	}
	switch {
	case delays && !resumed, !delays && strings.Contains(text, "(INJECTED)"):
		t.Hits = append(t.Hits, hit)
	case strings.HasSuffix(text, "<unfinished ...>"):
		begun[thread] = hit
	}
}

// readStamp reads seconds since 1970, with a fraction.
func readStamp(text string) (time.Time, error) {
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return time.Time{}, err
	}
	whole, fraction := math.Modf(seconds)
	return time.Unix(int64(whole), int64(fraction*1e9)), nil
}

// readCall reads the call and the path of its first descriptor, which has none in
// lines that are no calls.
func readCall(text string) Hit {
	call, args, _ := strings.Cut(text, "(")
	_, path, _ := strings.Cut(args, "<")
	path, _, _ = strings.Cut(path, ">")
	return Hit{Call: call, Path: path}
}
