package solve

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"strings"
	"testing"
)

// Records are those of encoding/csv, and so is whether there is an error.
func FuzzCSVReader(f *testing.F) {
	for _, seed := range []string{
		"a,b\nc,d\n", "a,b\r\nc,d", "\n\r\na\n", `"a,b",c` + "\n", `"a ""x""",` + "\n", "\"two\r\nlines\",x\nnext,y\n",
		`a"b,c`, `"a"b`, `"open`, `""`, ",,\n,", "a\r", "\"a\"\r\n", `a""b`, "a\rb,c\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if bytes.HasPrefix(text, []byte("\ufeff")) {
			t.Skip("encoding/csv keeps byte order marks")
		}
		want := csv.NewReader(bytes.NewReader(text))
		want.FieldsPerRecord = -1
		got := newCSVReader(block{text: text})
		for {
			wanted, wantErr := want.Read()
			fields, err := got.read()
			if (err == nil) != (wantErr == nil) || (err == io.EOF) != (wantErr == io.EOF) {
				t.Fatalf("%q: error %v, encoding/csv has %v", text, err, wantErr)
			}
			if err != nil {
				return
			}
			if line, _ := want.FieldPos(0); line != got.line {
				t.Fatalf("%q: record in line %d, want %d", text, got.line, line)
			}
			if fmt.Sprintf("%q", fields) != fmt.Sprintf("%q", wanted) {
				t.Fatalf("%q: fields %q, encoding/csv has %q", text, fields, wanted)
			}
		}
	})
}

func TestCSVReaderLimits(t *testing.T) {
	long := strings.Repeat("x", maxRecord-2)
	tests := []struct {
		text string
		want error
	}{
		{long + "\n", nil},
		{long + "xxx\n", errLongRecord},
		{"\"" + long[:maxRecord/2] + "\n" + long[:maxRecord/2] + "\"\n", errLongRecord},
		{"\"" + strings.Repeat("\n", maxRecord+1) + "\"\n", errLongRecord},
	}
	for i, test := range tests {
		if _, err := newCSVReader(block{text: []byte(test.text)}).read(); err != test.want {
			t.Errorf("%d: error %v, want %v", i, err, test.want)
		}
	}
}

func BenchmarkReadChannels(b *testing.B) {
	var text bytes.Buffer
	text.WriteString(solveHeader)
	const rows = 100_000
	for i := range rows {
		fmt.Fprintf(&text, "%040x,%d,%d,%d.5\n", i*7919, 1+i%300, 1000+i, 60+i%9999)
	}
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := readChannels(b.Context(), "x", bytes.NewReader(text.Bytes()), int64(text.Len()), solveColumns{}, func(int64, int) {}); err != nil {
			b.Fatal(err)
		}
	}
}
