package volume

import (
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Gentle is a file system on which each of pebble's compactions works an eighth of the
// time. One that takes a second of the processor at once makes thousands of polls late
// where there are two cores, and what it does is in no hurry.
type Gentle struct {
	vfs.FS
	behind func() bool // compactions should not rest
	hurry  atomic.Bool // nor from now on
	asked  atomic.Int64
	answer atomic.Bool
}

const (
	// compaction is what pebble calls what they write.
	compaction vfs.DiskWriteCategory = "pebble-compaction"
	// A compaction rests after it has worked for so long, so many times as long, for
	// longestRest at most: a slow disk makes it wait enough.
	workAtOnce  = 2 * time.Millisecond
	restPerWork = 7
	longestRest = 100 * time.Millisecond
	// askEvery is how often it is asked whether compactions are behind.
	askEvery = time.Second
)

// NewGentle returns such a file system. behind is asked once a second at most, while a
// compaction writes, whether compactions are behind what is written: they do not rest
// then.
func NewGentle(fs vfs.FS, behind func() bool) *Gentle { return &Gentle{FS: fs, behind: behind} }

// Hurry ends all rests: the store is about to be closed, which waits for compactions.
func (g *Gentle) Hurry() { g.hurry.Store(true) }

// Create creates a file, whose writer rests if it is a compaction.
func (g *Gentle) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := g.FS.Create(name, category)
	if err != nil || category != compaction {
		return f, err
	}
	return &gentleFile{File: f, fs: g, since: time.Now()}, nil
}

// Unwrap returns the file system beneath.
func (g *Gentle) Unwrap() vfs.FS { return g.FS }

// gentleFile is a file that one compaction writes.
type gentleFile struct {
	vfs.File
	fs    *Gentle
	since time.Time // it has worked since then
}

func (f *gentleFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	now := time.Now()
	if worked := now.Sub(f.since); worked >= workAtOnce {
		if !f.fs.hurries(now) {
			time.Sleep(min(restPerWork*worked, longestRest))
		}
		f.since = time.Now()
	}
	return n, err
}

func (g *Gentle) hurries(now time.Time) bool {
	if g.hurry.Load() {
		return true
	}
	if asked := g.asked.Load(); now.UnixNano()-asked >= int64(askEvery) && g.asked.CompareAndSwap(asked, now.UnixNano()) {
		g.answer.Store(g.behind())
	}
	return g.answer.Load()
}
