package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/child"
)

// damage is one change of one file.
type damage struct {
	file string // its path in the data directory
	kind string
	at   int // byte
	bit  int // of a flip
	size int // of the file, bytes
}

func (d damage) String() string {
	return fmt.Sprintf("%s: %s at %d of %d", d.file, d.kind, d.at, d.size)
}

var kinds = []string{"cut", "zeros", "flip"}

// draw chooses a damage of a file: anywhere, or among its last bytes in half of the
// cuts and zeroed tails.
func draw(random *rand.Rand, file string, size int) damage {
	d := damage{file: file, size: size, kind: kinds[random.IntN(len(kinds))], at: random.IntN(size), bit: random.IntN(8)}
	if d.kind != "flip" && random.IntN(2) == 0 {
		d.at = size - 1 - random.IntN(min(size, 200))
	}
	return d
}

func (d damage) apply(content []byte) []byte {
	switch d.kind {
	case "cut":
		return content[:d.at]
	case "zeros":
		clear(content[d.at:])
	default:
		content[d.at] ^= 1 << d.bit
	}
	return content
}

var digits = regexp.MustCompile(`[0-9]{6,}`)

// fileKind is a file's path without numbers.
func (d damage) fileKind() string { return digits.ReplaceAllString(d.file, "*") }

// outcome is what became of a start.
type outcome string

const (
	whole     outcome = "whole"           // everything is there
	spoken    outcome = "whole, said so"  // the same, with a warning or error in the log
	refused   outcome = "refused"         // the process ended with a message
	failing   outcome = "says error"      // what was asked for cannot be read, and the node says so
	lateLoss  outcome = "last second"     // of what was written in the last second something is missing
	lost      outcome = "LOST"            // acknowledged, and missing
	back      outcome = "CAME BACK"       // deleted, and there
	hangs     outcome = "HANGS"           // neither serves nor ends
	mute      outcome = "ENDS MUTE"       // without a message
	cacheEnds outcome = "CACHE ENDS NODE" // which could be fetched again
)

func (o outcome) violation() bool { return strings.ToUpper(string(o)) == string(o) }

// trial is one damaged copy and what became of it.
type trial struct {
	folder string
	damage damage
	outcome
	why string
}

// try damages a copy of the directory and starts a node on it. The copy stays when it
// shows a violation.
func (p *prepared) try(ctx context.Context, folder, program string, random *rand.Rand) (trial, error) {
	data := filepath.Join(folder, "data")
	if err := os.CopyFS(data, os.DirFS(p.data)); err != nil {
		return trial{}, err
	}
	d, err := p.damage(data, random)
	if err != nil {
		return trial{}, err
	}
	n, err := newNode(ctx, filepath.Join(folder, "node.log"), program, data)
	if err != nil {
		return trial{}, err
	}
	t := trial{folder: folder, damage: d}
	if err := n.Start(); err != nil {
		return t, errors.Join(err, n.Close())
	}
	t.outcome, t.why = p.watch(ctx, n)
	if err := errors.Join(ctx.Err(), n.Close()); err != nil {
		return t, err
	}
	if t.outcome == refused && strings.HasPrefix(d.file, "cache/") {
		t.outcome = cacheEnds
	}
	if t.outcome.violation() {
		return t, nil
	}
	return t, os.RemoveAll(folder)
}

// isLog reports whether a file is of the write-ahead log, which alone has what was
// acknowledged last: a quarter of the damages are of these.
func isLog(path string) bool {
	return strings.HasSuffix(path, ".log") && strings.Contains(path, "/ranges/log/")
}

// damage changes a file of a directory.
func (p *prepared) damage(data string, random *rand.Rand) (damage, error) {
	var files []string
	err := filepath.WalkDir(data, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || entry.Name() == "BALLAST" { // of which nothing is read
			return err
		}
		if info, err := entry.Info(); err != nil || info.Size() == 0 {
			return err
		}
		files = append(files, path)
		return nil
	})
	if err != nil {
		return damage{}, err
	}
	if random.IntN(4) == 0 {
		files = slices.DeleteFunc(files, func(path string) bool { return !isLog(path) })
	}
	path := files[random.IntN(len(files))]
	content, err := os.ReadFile(path)
	if err != nil {
		return damage{}, err
	}
	name, err := filepath.Rel(data, path)
	if err != nil {
		return damage{}, err
	}
	used := max(len(bytes.TrimRight(content, "\x00")), 1) // files are allocated in advance
	d := draw(random, filepath.ToSlash(name), used)
	return d, os.WriteFile(path, d.apply(content), 0o600)
}

// startWithin is how long a start may take.
const startWithin = time.Minute

// watch follows a start to its outcome.
func (p *prepared) watch(ctx context.Context, n *node) (outcome, string) {
	starting, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	if err := child.AwaitURL(starting, n.base+"/readyz", n.Process); errors.Is(err, child.ErrEnded) {
		return endedWith(n)
	} else if err != nil {
		return hangs, n.LogTail()
	}
	have := make(map[string]bool)
	for sub, err := range n.client.Subscriptions(ctx, nil) {
		switch {
		case err == nil:
			have[sub.ID] = true
		case n.Alive() != nil:
			return endedWith(n)
		default:
			return failing, err.Error()
		}
	}
	found, why := p.judge(have)
	if found == whole {
		if line := complaint(n); line != "" {
			return spoken, line
		}
	}
	return found, why
}

// endedWith tells an end with a message from one without.
func endedWith(n *node) (outcome, string) {
	if line := complaint(n); line != "" {
		return refused, line
	}
	return mute, n.LogTail()
}

// complaint returns the last line with a warning or an error that a node printed.
func complaint(n *node) (last string) {
	for line := range strings.Lines(n.LogTail()) {
		said := strings.HasPrefix(line, "corona: ") && !strings.Contains(line, " is on http")
		if said || strings.Contains(line, "level=ERROR") || strings.Contains(line, "level=WARN") {
			last = strings.TrimSpace(line)
		}
	}
	return last
}

// judge compares what a node has with what it had acknowledged.
func (p *prepared) judge(have map[string]bool) (outcome, string) {
	found, why := whole, ""
	for _, a := range p.acks {
		switch {
		case a.deletedAt.IsZero() && !have[a.id]:
			if !p.isLate(a.at) {
				return lost, a.id
			}
			found, why = lateLoss, a.id
		case !a.deletedAt.IsZero() && have[a.id]:
			if !p.isLate(a.deletedAt) {
				return back, a.id
			}
			found, why = lateLoss, a.id
		}
	}
	return found, why
}
