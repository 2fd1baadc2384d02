package solve

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"runtime/pprof"

	"github.com/spf13/pflag"
)

// profileFlags ask for profiles of a command's work.
type profileFlags struct {
	cpu, memory string // files, "": none
	view        string // address of the web view, "": none
}

func (f *profileFlags) bind(set *pflag.FlagSet) {
	set.StringVar(&f.cpu, "cpuprofile", "", "write a CPU profile to a `file`")
	set.StringVar(&f.memory, "memprofile", "", "write a memory profile to a `file`")
	set.StringVar(&f.view, "pprof", "", "then show the CPU profile (flame graph) in google/pprof's web view at a loopback `address`")
}

// profiler takes the profiles that flags ask for.
type profiler struct {
	flags    profileFlags
	taking   bool
	cpu      bytes.Buffer
	listener net.Listener // of the view, nil: none
}

// start begins the CPU profile. The view's address is taken now: an hour's work
// should not end at one that is in use.
func (f *profileFlags) start(ctx context.Context) (*profiler, error) {
	p := &profiler{flags: *f}
	if f.view != "" {
		var err error
		if p.listener, err = listenLoopback(ctx, f.view); err != nil {
			return nil, fmt.Errorf("--pprof %s: %w", f.view, err)
		}
	}
	if f.cpu != "" || f.view != "" {
		if err := pprof.StartCPUProfile(&p.cpu); err != nil {
			p.close()
			return nil, err
		}
		p.taking = true
	}
	return p, nil
}

// stop ends the CPU profile and writes the files.
func (p *profiler) stop() error {
	p.stopCPU()
	if p.flags.cpu != "" {
		if err := os.WriteFile(p.flags.cpu, p.cpu.Bytes(), 0o644); err != nil {
			return err
		}
	}
	if p.flags.memory == "" {
		return nil
	}
	var memory bytes.Buffer
	runtime.GC() // the profile is as of the last collection
	if err := pprof.Lookup("allocs").WriteTo(&memory, 0); err != nil {
		return err
	}
	return os.WriteFile(p.flags.memory, memory.Bytes(), 0o644)
}

func (p *profiler) stopCPU() {
	if p.taking {
		pprof.StopCPUProfile()
		p.taking = false
	}
}

// close ends what is still open, after an error too.
func (p *profiler) close() error {
	p.stopCPU()
	if p.listener == nil {
		return nil
	}
	listener := p.listener
	p.listener = nil
	return listener.Close()
}

// listenLoopback listens at an address of this machine alone: a profile tells
// what a program does, and the view runs tools to show it.
func listenLoopback(ctx context.Context, address string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if host == "" || host == "localhost" {
		host = "127.0.0.1"
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("%s is not a loopback address, such as 127.0.0.1:6060", host)
	}
	return new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, port))
}
