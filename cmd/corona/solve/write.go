package solve

import (
	"bytes"
	"io"
	"math"
	"os"
	"strconv"

	"github.com/seed-91e7e7c1/corona/honeycomb"
)

// writeRates writes the rates of all channels to a file, in the order of the
// input.
func writeRates(path string, names *nameList, config honeycomb.Config, problem *honeycomb.Problem) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if closed := file.Close(); err == nil {
			err = closed
		}
	}()
	return printRates(file, names, config, problem)
}

func printRates(w io.Writer, names *nameList, config honeycomb.Config, problem *honeycomb.Problem) error {
	text := append(make([]byte, 0, 2*writeSize), "channel,rate,width\n"...)
	for row := range names.starts {
		rate := problem.Rate(row)
		text = appendField(text, names.at(row))
		text = appendRate(append(text, ','), rate)
		text = strconv.AppendInt(append(text, ','), int64(config.Width(rate)), 10)
		text = append(text, '\n')
		if len(text) < writeSize {
			continue
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
		text = text[:0]
	}
	_, err := w.Write(text)
	return err
}

// writeSize is the bytes that are written at a time.
const writeSize = 256 << 10

// appendField quotes a field where encoding/csv would have to.
func appendField(dst, field []byte) []byte {
	if !needsQuotes(field) {
		return append(dst, field...)
	}
	dst = append(dst, '"')
	for _, c := range field {
		if c == '"' {
			dst = append(dst, '"')
		}
		dst = append(dst, c)
	}
	return append(dst, '"')
}

func needsQuotes(field []byte) bool {
	for _, c := range []byte("\",\r\n") {
		if bytes.IndexByte(field, c) >= 0 {
			return true
		}
	}
	return false
}

func appendRate(dst []byte, rate float64) []byte {
	if rate == math.Trunc(rate) {
		return strconv.AppendInt(dst, int64(rate), 10)
	}
	return strconv.AppendFloat(dst, rate, 'g', -1, 64)
}
