//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
)

const header = "channel,subscribers,size_bytes,update_interval_s,host,min_rate,max_rate\n"

// generate writes a file of channels.
func generate(path string, rows int, seed uint64) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if closed := file.Close(); err == nil {
			err = closed
		}
	}()
	return write(file, rows, seed)
}

func write(w io.Writer, rows int, seed uint64) error {
	out := bufio.NewWriterSize(w, 1<<20)
	out.WriteString(header)
	r := rand.New(rand.NewPCG(seed, uint64(rows)))
	var line []byte
	for i := range rows {
		line = appendRow(line[:0], r, i, rows)
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	return out.Flush()
}

// appendRow appends a channel: popularity as Zipf's law with exponent 0.5 and a
// mean of 50, sizes log-normal about 13 KB, update intervals as the paper's
// survey found them, and a sixth of all channels on ten hosts.
func appendRow(line []byte, r *rand.Rand, i, rows int) []byte {
	subscribers := min(25/math.Sqrt(1-r.Float64()), 25*math.Sqrt(float64(rows)))
	line = fmt.Appendf(line, "https://example.org/%d/feed.xml,%d,%d,%d,", i, int(subscribers),
		int(math.Exp(9.5+r.NormFloat64()))+1, int(updateInterval(r)))
	if r.Float64() < 1.0/6 {
		line = fmt.Appendf(line, "large%d.example.org,", r.IntN(10))
	} else {
		line = fmt.Appendf(line, "host%d.example.org,", i/6)
	}
	least, most := bounds(r)
	line = appendBound(append(appendBound(line, least), ','), most)
	return append(line, '\n')
}

// updateInterval returns seconds: a tenth of channels change within an hour, half
// hardly ever.
func updateInterval(r *rand.Rand) float64 {
	const hour, day = 3600.0, 24 * 3600.0
	switch x := r.Float64(); {
	case x < 0.1:
		return 600 * math.Pow(hour/600, r.Float64())
	case x < 0.5:
		return hour * math.Pow(5*day/hour, r.Float64())
	}
	return 7 * day
}

// bounds returns a channel's bounds, 0 for none: short feeds that overflow, and
// origins that ask for fewer polls.
func bounds(r *rand.Rand) (least, most float64) {
	switch x := r.Float64(); {
	case x < 0.02:
		return float64(2 + r.IntN(5)), 0
	case x < 0.1:
		return 0, [...]float64{0.25, 0.5, 1, 4}[r.IntN(4)]
	}
	return 0, 0
}

func appendBound(line []byte, rate float64) []byte {
	if rate == 0 {
		return line
	}
	return strconv.AppendFloat(line, rate, 'g', -1, 64)
}
