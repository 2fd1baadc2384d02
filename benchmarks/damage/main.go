// Command damage changes files of a node's data directory, as a disk that rots or
// loses does, and checks that the next start refuses, says what it mends, or has
// everything that was acknowledged and nothing that was deleted.
//
//	go run ./benchmarks/damage -seed 1 -damages 200
//
// Directories of three kinds are damaged: of a node that was idle for three seconds
// and killed, of one that was killed at work, and of one that was stopped. Each damage
// is one cut, zeroed tail or flipped bit of one file of a copy. What was acknowledged
// in the last second before a kill may be lost, since nothing says by then how far
// the log was synced.
//
// It ends with 0 when nothing was lost silently and every start ended within a
// minute; with 1 when not, and leaves those directories; with 2 when it could not run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/seed-91e7e7c1/corona/internal/child"
)

func main() {
	seed := flag.Uint64("seed", 1, "what files, damages and positions follow from")
	damages := flag.Int("damages", 200, "how many directories to damage")
	program := flag.String("program", "", "the corona `binary` to test, rather than one built from this module")
	verbose := flag.Bool("v", false, "print each damage and what became of it")
	flag.Parse()
	if flag.NArg() > 0 || *damages < 1 {
		fmt.Fprintln(os.Stderr, "damage: want no arguments and -damages of at least 1")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := execute(ctx, *seed, *damages, *program, *verbose, os.Stdout)
	stop()
	switch {
	case errors.Is(err, errViolated):
		fmt.Fprintln(os.Stderr, "damage:", err)
		os.Exit(1)
	case err != nil:
		fmt.Fprintln(os.Stderr, "damage:", err)
		os.Exit(2)
	}
}

var errViolated = errors.New("what was acknowledged was lost, or a start did not end")

func execute(ctx context.Context, seed uint64, damages int, program string, verbose bool, out io.Writer) error {
	folder, err := os.MkdirTemp("", "corona-damage-")
	if err != nil {
		return err
	}
	if program == "" {
		if program, err = child.Build(ctx, folder); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "seed %d, %d damages, in %s\n", seed, damages, folder)
	random := rand.New(rand.NewPCG(seed, 0))
	var prepared []*prepared
	for _, stop := range stops {
		p, err := prepare(ctx, filepath.Join(folder, stop), program, stop, random)
		if err != nil {
			return fmt.Errorf("prepare %s: %w", stop, err)
		}
		fmt.Fprintf(out, "%s: %d subscriptions and %d deletions acknowledged, %d of them in the last second\n", stop, p.subscribed(), p.deleted(), p.late())
		prepared = append(prepared, p)
	}
	table := newTable()
	for i := range damages {
		p := prepared[i%len(prepared)]
		t, err := p.try(ctx, filepath.Join(folder, fmt.Sprintf("damage-%d", i)), program, random)
		if err != nil {
			return err
		}
		table.add(t)
		if verbose || t.outcome.violation() {
			fmt.Fprintf(out, "%s: %s, %s: %s: %s\n", t.folder, p.stop, t.damage, t.outcome, t.why)
		}
	}
	table.print(out)
	if table.violations > 0 {
		return fmt.Errorf("%w: %d of %d", errViolated, table.violations, damages)
	}
	return os.RemoveAll(folder)
}
