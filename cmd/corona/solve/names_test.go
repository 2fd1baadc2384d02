package solve

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"strings"
	"testing"
)

// indexed returns an index of names, in blocks of a number of rows.
func indexed(names []string, rows int, hash func(string) uint64) *nameIndex {
	x := &nameIndex{names: &nameList{}}
	for len(names) > 0 {
		n := min(rows, len(names))
		var text []byte
		var entries []uint64
		for _, name := range names[:n] {
			entries = append(entries, hash(name)>>32<<32|uint64(len(text)))
			text = append(text, name...)
		}
		x.add(text, entries)
		names = names[n:]
	}
	return x
}

func TestNameIndex(t *testing.T) {
	seed := maphash.MakeSeed()
	hashes := map[string]func(string) uint64{
		"random":        func(name string) uint64 { return maphash.String(seed, name) },
		"one part":      func(name string) uint64 { return maphash.String(seed, name) >> 8 },
		"few, the last": func(name string) uint64 { return maphash.String(seed, name) | 0xfffffff000000000 },
	}
	const n = 20_000
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%0*d", 1+i%60, i)
	}
	for name, hash := range hashes {
		if strings.HasPrefix(name, "few") {
			names = names[:2000] // each is compared with a sixteenth of the others
		}
		for _, rows := range []int{1, 7, 999, n} {
			x := indexed(names, rows, hash)
			if got := x.first(); got != noRepeat {
				t.Errorf("%s, blocks of %d: %+v in different names", name, rows, got)
			}
			for i, want := range names {
				if got := x.names.at(i); !bytes.Equal(got, []byte(want)) {
					t.Fatalf("%s, blocks of %d: name %d is %q, want %q", name, rows, i, got, want)
				}
			}
			last := len(names)
			twice := append(names[:last:last], names[last-1], names[3], names[3], names[0])
			if got, want := indexed(twice, rows, hash).first(), (repeated{row: last, earlier: last - 1}); got != want {
				t.Errorf("%s, blocks of %d: %+v, want %+v", name, rows, got, want)
			}
		}
	}
}

// Of two things that are wrong, that of the earlier line is told, whatever it is; and
// of a line that is wrong twice, that its channel is there already.
func TestSolveTellsTheFirstOfManyRepeats(t *testing.T) {
	var text strings.Builder
	text.WriteString(solveHeader)
	line := 2
	write := func(row string) (begun int) {
		begun = line
		text.WriteString(row)
		line += strings.Count(row, "\n")
		return begun
	}
	// Long names make several blocks of fewer rows than it takes for word of progress.
	name := func(i int) string { return fmt.Sprintf("c%040d", i) }
	for i := 0; text.Len() < 3*blockSize; i++ {
		write(name(i) + ",1,1,60\n")
		switch {
		case i%1000 == 0:
			write(fmt.Sprintf("\n\r\n\"two\nlines %d\",1,1,\"60\"\r\n", i))
		case i%1001 == 0:
			write("\n")
		}
	}
	at := write("\"two\nlines 5000\",1,1,60\n")
	const want = "line %d, column channel: \"two\\nlines 5000\" is there already, in data row 5007\n"
	checkRefused(t, text.String(), fmt.Sprintf(want, at))
	checkRefused(t, text.String()+name(7)+",1,1,60\nc8,none,1,60\n", fmt.Sprintf(want, at))
	checkRefused(t, strings.Replace(text.String(), "\"two\nlines 30000\",1", "bad,-1", 1), "column subscribers: \"-1\" is negative")
	checkRefused(t, twoChannels+"b,none,1,60\n", "line 4, column channel: \"b\" is there already, in data row 2")
	checkRefused(t, twoChannels+"c,none,1,60\nb,1,1,60\n", "line 4, column subscribers")
	checkRefused(t, twoChannels+"b,1,1\n", "line 4, column update_interval_s: is missing")
}
