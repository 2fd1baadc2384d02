//go:build unix

package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
)

// What is printed of a capture.
const (
	sampleLines = 8   // of what is gone, and of what came
	sampleRunes = 150 // of a line
)

// print prints captures with what differs in them from the current content, as
// many updates as others if there are as many, taken by a seed.
func (l *life) print(w io.Writer, many int, seed uint64) {
	var told, silent []int
	for n, s := range l.steps {
		switch {
		case s.base < 0:
		case s.Update != nil:
			told = append(told, n)
		default:
			silent = append(silent, n)
		}
	}
	random := rand.New(rand.NewPCG(seed, uint64(len(l.steps))))
	picked := append(pick(random, told, (many+1)/2), pick(random, silent, many/2)...)
	slices.Sort(picked)
	for _, n := range picked {
		l.printCapture(w, n)
	}
}

func pick(random *rand.Rand, from []int, many int) []int {
	random.Shuffle(len(from), func(i, j int) { from[i], from[j] = from[j], from[i] })
	return from[:min(many, len(from))]
}

func (l *life) printCapture(w io.Writer, n int) {
	s := l.steps[n]
	was, is := see(l.steps[s.base].body), see(s.body)
	fmt.Fprintf(w, "\n== %s %d: %s %s (current: %d; differs in %s)\n", l.name, n, s.Verdict, s.Reason, s.base, seesBetween(was, is))
	if s.Err != nil {
		fmt.Fprintln(w, "  error:", s.Err)
	}
	if s.Update != nil {
		e := s.Update.Entries
		fmt.Fprintf(w, "  told: %d added, %d changed, %d removed; diff of %d bytes\n", len(e.Added), len(e.Changed), len(e.Removed), len(s.Update.Diff))
	}
	gone, come := differing(was.lines, is.lines)
	printLines(w, "-", gone)
	printLines(w, "+", come)
	gone, come = differing(was.links, is.links)
	printLines(w, "- →", gone)
	printLines(w, "+ →", come)
}

func printLines(w io.Writer, sign string, lines []string) {
	for i, line := range lines {
		if i == sampleLines {
			fmt.Fprintf(w, "  %s … %d more\n", sign, len(lines)-i)
			return
		}
		if runes := []rune(line); len(runes) > sampleRunes {
			line = string(runes[:sampleRunes]) + "…"
		}
		fmt.Fprintf(w, "  %s %s\n", sign, line)
	}
}
