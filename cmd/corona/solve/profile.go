package solve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"runtime/pprof"

	"github.com/google/pprof/profile"
	"github.com/spf13/pflag"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/view"
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
		if p.listener, err = view.Listen(ctx, f.view); err != nil {
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

// view shows the CPU profile until the context ends, when the flags ask for it.
func (p *profiler) view(ctx context.Context, log io.Writer) error {
	if p.listener == nil {
		return nil
	}
	listener := p.listener
	p.listener = nil
	cpu, err := profile.ParseData(p.cpu.Bytes())
	if err == nil && len(cpu.Sample) == 0 {
		err = errors.New("--pprof: the work was over before the profile had a sample; try a higher --repeat")
	}
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	return view.Serve(ctx, listener, cpu, nil, log)
}
