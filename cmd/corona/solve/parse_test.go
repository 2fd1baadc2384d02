package solve

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"io"
	"slices"
	"testing"
)

// rowLayout is that of channel,subscribers,size_bytes,colour,host,max_rate, of which
// sizes are checked only.
func rowLayout() *layout {
	var subscribers, most []float64
	l := &layout{
		file: "x", names: []string{"channel", "subscribers", "size_bytes", "colour", "host", "max_rate"}, host: 4,
		values: []valueField{{"subscribers", 1, true, &subscribers}, {"size_bytes", 2, true, nil}, {"max_rate", 5, false, &most}},
		seed:   maphash.MakeSeed(),
	}
	l.kind()
	return l
}

func newChunk(l *layout) *chunk {
	c := &chunk{layout: l, values: make([][]float64, len(l.values))}
	c.begin(block{}, 0)
	return c
}

// said is a chunk's rows and its error, as text: NaN is like NaN.
func (c *chunk) said() string {
	values := make([][]float64, len(c.values))
	for i, column := range c.values {
		values[i] = column[:min(c.rows, len(column))]
	}
	return fmt.Sprintf("%d rows, %x %q, %v, %q %v, %v: %v", c.rows, c.names, c.text, c.lines, c.hosts, c.hostEnds, values, c.err)
}

// Whatever a block has, its rows in one pass are those that come of splitting records
// and parsing fields, and so is what is wrong.
func FuzzPlainRows(f *testing.F) {
	for _, seed := range []string{
		"a,1,2,red,h,\nb,0.25,1e3,,,4\r\n", "a,1,2,3,4,5,6\n", "a,1\n", "a,1,2,red,h,", ",1,2,,,\n", "a,,2,,,", "a, 4 ,+2,,,0.5", "a,1,2,,,-1",
		"a,1,2,,h,\n\"b\",1,2,,\"i\",\n\"c\nd\",1,2,,\"jj\",7\n", "a,1,x,,,NaN\n", "a,1,-2,,,\n", "a,12345678,123456789.5,,,1234567890123456\n",
	} {
		f.Add([]byte(seed))
	}
	l := rowLayout()
	f.Fuzz(func(t *testing.T, text []byte) {
		plain := bytes.IndexByte(text, '"') < 0
		got, want := newChunk(l), newChunk(l)
		got.parse(newCSVReader(block{text: bytes.Clone(text), line: 7, plain: plain}))
		csv := newCSVReader(block{text: bytes.Clone(text), line: 7, plain: plain})
		for want.err == nil {
			fields, err := csv.read()
			if err == io.EOF {
				break
			}
			if err != nil {
				want.err = l.unreadable(err, csv.line)
				break
			}
			want.err = want.row(fields, csv.line)
		}
		if got.said() != want.said() {
			t.Fatalf("%q\n has %s\nwant %s", text, got.said(), want.said())
		}
	})
}

// A chunk that has room makes no garbage, whatever its rows are.
func TestParsingMakesNoGarbage(t *testing.T) {
	text := bytes.Repeat([]byte("a,12,3456,,h,78.9\n\"b\",12,3456,,\"i\",1234567890.25\n"), 5000)
	c := newChunk(rowLayout())
	csv := newCSVReader(block{})
	parse := func() {
		c.begin(block{}, 0)
		csv.rest, csv.next = text, 0
		c.parse(csv)
	}
	parse()
	if c.err != nil || c.rows != 10_000 || !slices.Equal(c.values[2][:2], []float64{78.9, 1234567890.25}) {
		t.Fatalf("%d rows, %v", c.rows, c.err)
	}
	if allocations := testing.AllocsPerRun(20, parse); allocations > 1 { // the channel that says it is parsed
		t.Errorf("%v allocations for 10,000 rows, want 1", allocations)
	}
}
