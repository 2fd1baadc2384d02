//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/cluster"
	"github.com/seed-91e7e7c1/corona/benchmarks/internal/witness"
)

// flip changes a bit of a file of a node's log or state.
func (n *nemesis) flip(ctx context.Context, f *fault) error {
	return n.damage(ctx, f, func(node *cluster.Node) (string, error) {
		return flipBit(f.random, filepath.Join(node.Data, logPath), filepath.Join(node.Data, statesPath))
	})
}

// tail cuts the end of the log of a node.
func (n *nemesis) tail(ctx context.Context, f *fault) error {
	return n.damage(ctx, f, func(node *cluster.Node) (string, error) {
		return cutTail(f.random, filepath.Join(node.Data, logPath))
	})
}

// damage kills a node, changes what its disk has, and starts it again. It has to fill again
// what was damaged; where it does not start, an operator wipes it. Until then its disk may
// be damaged without a word, and no other node may lose what it has.
func (n *nemesis) damage(ctx context.Context, f *fault, change func(*cluster.Node) (string, error)) error {
	node := f.nodes[0]
	if err := n.end(node, node.Kill); err != nil {
		return err
	}
	what, err := change(node)
	if err != nil {
		return err
	}
	n.fleet.setHurt(node)
	f.what += ", " + strings.TrimPrefix(what, node.Data+"/")
	if err := n.start(node); err != nil {
		return err
	}
	for begun := n.recorder.Now(); ; witness.Pause(ctx, wholePause) {
		if _, ended := node.Ended(); ended {
			return n.refused(ctx, f, node)
		}
		if err := n.fleet.whole(ctx); err == nil || ctx.Err() != nil {
			return ctx.Err()
		} else if n.recorder.Now()-begun > calmAfter+wholeWithin {
			return fmt.Errorf("%w: %s: not in %s: %w", errViolated, rulePlaced, calmAfter+wholeWithin, err)
		}
	}
}

// refused replaces a node that does not go on with what its disk has, if it says so.
func (n *nemesis) refused(ctx context.Context, f *fault, node *cluster.Node) error {
	said, err := witness.LastWords(node.Process)
	if err != nil {
		return err
	}
	if code, _ := node.Ended(); code != witness.FailedCode {
		return fmt.Errorf("%w: %s: %s ended with code %d: %s", errViolated, ruleDamage, node.Name, code, said)
	}
	f.what += ", which ended and was wiped"
	if err := n.ended(node); err != nil {
		return err
	}
	return n.replace(ctx, node)
}

// replaceHurt replaces the node whose disk may be damaged if it has ended by that, which a
// compaction may do long after.
func (n *nemesis) replaceHurt(ctx context.Context) error {
	node := n.fleet.hurt()
	if node == nil || !n.fleet.take(node) {
		return nil
	}
	defer n.fleet.release(node)
	if _, ended := node.Ended(); !ended {
		return nil
	}
	f := &fault{kind: "damage", what: node.Name, from: n.recorder.Now(), stops: true}
	err := n.refused(ctx, f, node)
	f.to = n.recorder.Now()
	fmt.Fprintf(n.out, "%8s  %s\n", f.from, f)
	return err
}

// flipBit changes a bit of a file below folders, and says which.
func flipBit(random *rand.Rand, folders ...string) (string, error) {
	var names []string
	var sizes []int64
	var all int64
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !slices.Contains([]string{".sst", ".log"}, filepath.Ext(path)) {
				return err
			}
			info, err := entry.Info()
			if err == nil && info.Size() > 0 {
				names, sizes = append(names, path), append(sizes, info.Size())
				all += info.Size()
			}
			return err
		})
		if err != nil {
			return "", err
		}
	}
	if all == 0 {
		return "", errors.New("there is no file to change")
	}
	at := random.Int64N(all)
	i := 0
	for ; at >= sizes[i]; i++ {
		at -= sizes[i]
	}
	file, err := os.OpenFile(names[i], os.O_RDWR, 0)
	if err != nil {
		return "", err
	}
	one := make([]byte, 1)
	if _, err = file.ReadAt(one, at); err == nil {
		one[0] ^= 1 << random.IntN(8)
		_, err = file.WriteAt(one, at)
	}
	return fmt.Sprintf("%s at %d of %d bytes", names[i], at, sizes[i]), errors.Join(err, file.Close())
}

// cutTail cuts the newest file of a log, up to 64 KiB before its end: more than a write that
// was under way at a kill may lack.
func cutTail(random *rand.Rand, folder string) (string, error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.log"))
	if err != nil || len(names) == 0 {
		return "", errors.Join(err, fmt.Errorf("no log in %s", folder))
	}
	slices.Sort(names)
	name := names[len(names)-1]
	info, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	left := max(0, info.Size()-1-random.Int64N(64<<10))
	return fmt.Sprintf("%s from %d to %d bytes", name, info.Size(), left), os.Truncate(name, left)
}

// logPath is where the log of all ranges is in a data directory.
const logPath = "ranges/log"
