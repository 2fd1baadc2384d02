// Package process reads what the kernel tells of processes (proc(5)): processor time,
// memory, bytes written and sent.
package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// CPUTime returns how much processor time a process has used.
func CPUTime(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	const utime, stime = 11, 12 // proc(5), counted behind the name
	if len(fields) <= stime {
		return 0, fmt.Errorf("/proc/%d/stat: %d fields", pid, len(fields))
	}
	user, err := strconv.ParseInt(fields[utime], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(fields[stime], 10, 64)
	const tick = time.Second / 100 // USER_HZ on Linux
	return time.Duration(user+system) * tick, err
}

// Resident returns the bytes of a process that are in memory.
func Resident(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0, fmt.Errorf("/proc/%d/statm: %d fields", pid, len(fields))
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// Written returns the bytes that a process has caused to be sent to a disk, less
// those that were taken back before they went (proc(5), /proc/pid/io).
func Written(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		return 0, err
	}
	fields := make(map[string]int64)
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if fields[name], err = strconv.ParseInt(value, 10, 64); err != nil {
			return 0, fmt.Errorf("/proc/%d/io: %q", pid, line)
		}
	}
	return fields["write_bytes"] - fields["cancelled_write_bytes"], nil
}

// Sent returns the bytes that have left the network namespace of a process by any interface
// but the loopback, with their Ethernet headers (proc(5), /proc/pid/net/dev).
func Sent(pid int) (sum int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/dev", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		name, counters, found := strings.Cut(line, ":")
		if !found || strings.TrimSpace(name) == "lo" {
			continue
		}
		const transmitted = 8 // behind eight counters of what was received
		fields := strings.Fields(counters)
		if len(fields) <= transmitted {
			return 0, fmt.Errorf("/proc/%d/net/dev: %q", pid, line)
		}
		bytes, err := strconv.ParseInt(fields[transmitted], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/%d/net/dev: %q", pid, line)
		}
		sum += bytes
	}
	return sum, nil
}
