package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// usage is what this process has used so far.
type usage struct {
	fsyncs      uint64
	written     uint64 // bytes sent to the disk, as the kernel counts them
	processor   time.Duration
	machine     time.Duration // processor time of all processes and the kernel
	truncations uint64
	terms       uint64
	restores    uint64
}

func used(c *cluster) (usage, error) {
	written, err := diskWritten()
	if err != nil {
		return usage{}, err
	}
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return usage{}, err
	}
	machine, err := machineBusy()
	if err != nil {
		return usage{}, err
	}
	return usage{
		fsyncs: c.fsyncs(), written: written, processor: time.Duration(r.Utime.Nano() + r.Stime.Nano()), machine: machine,
		truncations: c.counts.truncations.Load(), terms: c.terms(), restores: c.counts.restores.Load(),
	}, nil
}

func (u usage) since(before usage) usage {
	return usage{
		fsyncs: u.fsyncs - before.fsyncs, written: u.written - before.written, processor: u.processor - before.processor, machine: u.machine - before.machine,
		truncations: u.truncations - before.truncations, terms: u.terms - before.terms, restores: u.restores - before.restores,
	}
}

// diskWritten reads write_bytes of /proc/self/io: pages that this process made
// dirty, each time that they were.
func diskWritten() (uint64, error) {
	content, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(content) {
		if number, ok := bytes.CutPrefix(line, []byte("write_bytes: ")); ok {
			return strconv.ParseUint(string(bytes.TrimSpace(number)), 10, 64)
		}
	}
	return 0, fmt.Errorf("no write_bytes in /proc/self/io")
}

// machineBusy reads from /proc/stat how long all processors together were not idle.
func machineBusy() (time.Duration, error) {
	content, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	const ticks = 100 // in a second, whatever the kernel was built with
	var user, nice, system, idle, wait, irq, softirq, steal int64
	_, err = fmt.Sscanf(string(content), "cpu %d %d %d %d %d %d %d %d", &user, &nice, &system, &idle, &wait, &irq, &softirq, &steal)
	return time.Duration(user+nice+system+irq+softirq+steal) * time.Second / ticks, err
}

// loadAverage returns those over 1, 5 and 15 minutes.
func loadAverage() (string, error) {
	content, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "", err
	}
	return strings.Join(strings.Fields(string(content))[:3], " "), nil
}

// diskUsage returns the bytes that a folder's files take on the disk.
func diskUsage(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			total += info.Sys().(*syscall.Stat_t).Blocks * 512
		}
		return err
	})
	return total, err
}

// probe returns the median time of a write of 4 KiB into an allocated file, made
// durable: what the disk asks for one fsync while nothing else of ours runs.
func probe(dir string) (time.Duration, error) {
	file, err := os.CreateTemp(dir, "probe")
	if err != nil {
		return 0, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	const writes = 101
	took := make([]time.Duration, writes)
	page := make([]byte, 4096)
	if _, err := file.Write(make([]byte, writes*len(page))); err != nil {
		return 0, err
	}
	if err := file.Sync(); err != nil {
		return 0, err
	}
	for i := range took {
		began := time.Now()
		if _, err := file.WriteAt(page, int64(i*len(page))); err != nil {
			return 0, err
		}
		if err := syscall.Fdatasync(int(file.Fd())); err != nil {
			return 0, err
		}
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	return quantile(took, 0.5), nil
}
