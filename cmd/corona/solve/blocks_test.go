package solve

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

// Blocks end between records, wherever quotes, line ends and short reads fall, and
// each knows the line that it begins after.
func TestBlocksAreWholeRecords(t *testing.T) {
	var text bytes.Buffer
	for i := 0; text.Len() < 3*blockSize; i++ {
		switch i % 4 {
		case 0:
			fmt.Fprintf(&text, "\"two\r\nlines, number \"\"%d\"\"\",%d\r\n", i, i)
		case 1:
			fmt.Fprintf(&text, "\n\n%d,%s\n", i, strings.Repeat("x", i%5000))
		case 2:
			fmt.Fprintf(&text, "\"%s\n\",%d\n", strings.Repeat("\n", i%700), i)
		default:
			fmt.Fprintf(&text, "plain,%d\n", i)
		}
	}
	want := csv.NewReader(bytes.NewReader(text.Bytes()))
	blocks := &blockReader{in: iotest.HalfReader(bytes.NewReader(text.Bytes()))}
	for n := 0; ; n++ {
		b, err := blocks.next()
		if err != nil {
			if _, err := want.Read(); err == nil || n < 4 {
				t.Errorf("%d blocks, and records are left", n)
			}
			return
		}
		got := newCSVReader(b)
		for fields, err := got.read(); err == nil; fields, err = got.read() {
			wanted, err := want.Read()
			if line, _ := want.FieldPos(0); err != nil || line != got.line || fmt.Sprintf("%q", fields) != fmt.Sprintf("%q", wanted) {
				t.Fatalf("line %d: %.60q; want line %d, %.60q, %v", got.line, fields, line, wanted, err)
			}
		}
		blocks.release(b)
	}
}

// What is wrong far behind the first block is refused with its line, and the first
// of two is.
func TestSolveRefusesRowsOfLaterBlocks(t *testing.T) {
	var text strings.Builder
	text.WriteString(solveHeader)
	rows := 0
	for ; text.Len() < 5*blockSize; rows++ {
		fmt.Fprintf(&text, "channel %d,1,100,3600\n", rows)
	}
	for _, test := range []struct{ row, want string }{
		{"bad,,100,3600", "column subscribers: is missing"},
		{"bad,-1,100,3600", "is negative"},
		{"bad,1,NaN,3600", "is not a number"},
		{"bad,1,100,soon", "is not a number"},
		{"channel 7,1,100,3600", "is there already, in data row 8"},
		{"bad,1,100", "column update_interval_s: is missing"},
		{"bad,1,100,\"1", "never closed"},
		{"bad,1,1e999,3600", "is out of range"},
		{"bad,1,100,3600,more", "has 5 fields"},
		{"ba\"d,1,100,3600", "has a \" inside"},
	} {
		whole := text.String() + test.row + "\n"
		checkRefused(t, whole, fmt.Sprintf("line %d", rows+2))
		checkRefused(t, whole, test.want)
	}
	first := strings.Replace(text.String(), "channel 30000,1", "channel 30000,none", 1)
	checkRefused(t, first+"bad,,100,3600\n", "line 30002, column subscribers")
}

func TestSolveProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var notes bytes.Buffer
		p := newSolveProgress(&notes, "channels.csv")
		p.phase("read")
		p.of(1000)
		p.at(100, fewestShown-1)
		time.Sleep(1500 * time.Millisecond) // virtual
		p.at(500, 1_000_000)
		time.Sleep(time.Second)
		p.at(1000, 2_000_000)
		p.phase("solve")
		time.Sleep(time.Second)
		p.close()
		lines := slices.Collect(strings.Lines(notes.String()))
		want := []string{"channels.csv: read 1000000 channels, 50 %\n", "channels.csv: solve 2000000 channels\n"}
		if !slices.Equal(lines, want) {
			t.Errorf("told %q, want %q", lines, want)
		}
	})
}
