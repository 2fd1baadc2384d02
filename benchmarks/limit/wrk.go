package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// script has thread number n of wrk ask host number n, or one thread ask for all. A file of
// requests has the lines of each, then a line of a dot.
const script = `
local threads = 0
function setup(thread)
  thread:set("number", threads)
  local host, port = hosts[threads % #hosts + 1]:match("^(.*):(%d+)$")
  thread.addr = wrk.lookup(host, port)[1]
  threads = threads + 1
end

local requests, at = {}, 0
function init(args)
  for name = 1, #hosts do
    if single or name == number + 1 then
      local lines = {}
      for line in io.lines(folder .. name .. ".requests") do
        if line == "." then
          requests[#requests + 1] = table.concat(lines, "\r\n") .. "\r\n\r\n"
          lines = {}
        else
          lines[#lines + 1] = line
        end
      end
    end
  end
end

function request()
  at = at % #requests + 1
  return requests[at]
end
`

// pacing has a thread of wrk wait before each request; wrk counts in whole milliseconds.
const pacing = `
function delay()
  return math.floor(milliseconds + math.random())
end
`

// writeScripts writes the requests of each host.
func (f *field) writeScripts() error {
	for h, targets := range f.targets {
		var text strings.Builder
		for _, t := range targets {
			fmt.Fprintf(&text, "GET %s HTTP/1.1\nHost: %s\n", t.path, t.host)
			for _, field := range t.fields() {
				fmt.Fprintf(&text, "%s: %s\n", field[0], field[1])
			}
			text.WriteString(".\n")
		}
		if err := os.WriteFile(filepath.Join(f.folder, fmt.Sprintf("%d.requests", h+1)), []byte(text.String()), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// script returns a script for as many threads as there are addresses to connect to.
func (f *field) script(threads int, delay float64) string {
	head := fmt.Sprintf("hosts = {%s}\nfolder = %q\nsingle = %t\nmilliseconds = %f\n",
		`"`+strings.Join(f.hosts, `", "`)+`"`, f.folder+string(filepath.Separator), threads == 1, delay)
	if delay > 0 {
		return head + script + pacing
	}
	return head + script
}

// turnOfWrk has wrk ask with a thread for each address. Its processor time is that of the
// whole process, which reads the requests first: some milliseconds.
func (f *field) turnOfWrk(addresses []string) func(ctx context.Context, c *contestant) (sample, error) {
	return func(ctx context.Context, c *contestant) (sample, error) {
		delay, connections := 0.0, len(f.hosts)*f.perHost
		ideal := 1000 * float64(connections) / f.rate
		if c.paced {
			if delay = f.delays[c.name]; delay == 0 {
				delay = ideal
			}
		}
		name := filepath.Join(f.folder, "wrk.lua")
		if err := os.WriteFile(name, []byte(f.script(len(addresses), delay)), 0o600); err != nil {
			return sample{}, err
		}
		s, err := f.origin.window(c.name, func() (float64, time.Duration, error) {
			return runWrk(ctx, f.window, "-t", strconv.Itoa(len(addresses)), "-c", strconv.Itoa(connections), "-s", name, "http://"+addresses[0]+"/")
		})
		s.Connections = connections
		if c.paced && err == nil { // answers and timers take time too
			f.delays[c.name] = max(0.01, delay+(ideal-1000*float64(connections)/s.Rate)/2)
		}
		return s, err
	}
}

func runWrk(ctx context.Context, window time.Duration, args ...string) (requests float64, cpu time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, window+30*time.Second)
	defer cancel()
	wrk := exec.CommandContext(ctx, "wrk", append([]string{"-d", fmt.Sprintf("%ds", int(window.Seconds()))}, args...)...)
	text, err := wrk.CombinedOutput()
	if err = errors.Join(err, ctx.Err()); err != nil { // interrupted, wrk ends as if it were done
		return 0, 0, fmt.Errorf("%w\n%s", err, text)
	}
	requests, err = parseWrk(string(text))
	return requests, wrk.ProcessState.UserTime() + wrk.ProcessState.SystemTime(), err
}

var wrkTotal = regexp.MustCompile(`(?m)^\s*(\d+) requests in `)

// parseWrk returns the requests that wrk says were answered. Errors and answers that are
// none of a 304's are refused.
func parseWrk(text string) (float64, error) {
	match := wrkTotal.FindStringSubmatch(text)
	if match == nil || strings.Contains(text, "Socket errors:") || strings.Contains(text, "Non-2xx or 3xx responses:") {
		return 0, fmt.Errorf("wrk had errors, or said nothing:\n%s", text)
	}
	return strconv.ParseFloat(match[1], 64)
}
