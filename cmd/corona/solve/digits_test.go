package solve

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// checkShort compares parseShort with strconv.ParseFloat, bit by bit. What lies behind
// a text in memory is not part of it.
func checkShort(t *testing.T, text []byte) (short bool) {
	t.Helper()
	for _, behind := range []string{"", "7777777777777777", ",1,2,3,4,5,6,7,8", "\xff\xff\xff\xff\xff\xff\xff\xff"} {
		memory := append(append(make([]byte, 0, len(text)+len(behind)), text...), behind...)
		value, length := parseShort(memory[:len(text)])
		if length == 0 {
			continue
		}
		want, err := strconv.ParseFloat(string(text[:length]), 64)
		if err != nil || math.Float64bits(value) != math.Float64bits(want) {
			t.Fatalf("%q before %q: %v, strconv.ParseFloat has %v, %v", text[:length], behind, value, want, err)
		}
		if length < len(text) && text[length]-'0' <= 9 {
			t.Fatalf("%q: only %d bytes are read", text, length)
		}
		short = length == len(text)
	}
	return short
}

func FuzzParseShort(f *testing.F) {
	for _, seed := range []string{"0", "12345678", "123456789012345", "1234567890123456", "1.5", "1.", ".5", "", "0.1", "123456789.123456", "9/", "9:", "1e5", "00000000000000.7", "8\xb0"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) { checkShort(t, text) })
}

func TestParseShort(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 200_000 {
		whole, places := 1+r.IntN(15), 0
		text := fmt.Appendf(nil, "%0*d", whole, r.Int64N(int64(math.Pow10(whole))))
		if places = r.IntN(16 - whole); places > 0 {
			text = fmt.Appendf(append(text, '.'), "%0*d", places, r.Int64N(int64(math.Pow10(places))))
		}
		if !checkShort(t, text) {
			t.Fatalf("%q is not read as a short number", text)
		}
	}
	for c := range 256 { // each byte behind each number of digits
		for digits := range 16 {
			text := append([]byte("987654321987654321")[:digits:digits], byte(c))
			checkShort(t, text)
			if _, length := parseShort(text); length != digits && c-'0' > 9 && c != '.' || c < '0' && c != '.' && length != digits {
				t.Fatalf("%q: %d digits are read", text, length)
			}
		}
	}
}
