package main

import (
	"bufio"
	"bytes"
	"io"
	"math"
	"os"
	"strconv"

	"github.com/seed-91e7e7c1/corona/honeycomb"
)

// writeRates writes the rates of all channels to a file, in the order of the
// input.
func writeRates(path string, names *nameSet, config honeycomb.Config, problem *honeycomb.Problem) (err error) {
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

func printRates(w io.Writer, names *nameSet, config honeycomb.Config, problem *honeycomb.Problem) error {
	out := bufio.NewWriterSize(w, 256<<10)
	out.WriteString("channel,rate,width\n")
	var line []byte
	for row := range names.starts {
		rate := problem.Rate(row)
		line = appendField(line[:0], names.at(row))
		line = appendRate(append(line, ','), rate)
		line = strconv.AppendInt(append(line, ','), int64(config.Width(rate)), 10)
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return out.Flush()
}

// appendField quotes a field where encoding/csv would have to.
func appendField(dst, field []byte) []byte {
	if !bytes.ContainsAny(field, "\",\r\n") {
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

func appendRate(dst []byte, rate float64) []byte {
	if rate == math.Trunc(rate) {
		return strconv.AppendInt(dst, int64(rate), 10)
	}
	return strconv.AppendFloat(dst, rate, 'g', -1, 64)
}
