package solve

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/google/pprof/driver"
	"github.com/google/pprof/profile"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
)

// view serves the CPU profile in google/pprof's web view until the context ends,
// when the flags ask for it.
func (p *profiler) view(ctx context.Context, log io.Writer) error {
	if p.listener == nil {
		return nil
	}
	listener := p.listener
	p.listener = nil
	defer listener.Close()
	cpu, err := profile.ParseData(p.cpu.Bytes())
	if err != nil {
		return err
	}
	if len(cpu.Sample) == 0 {
		return errors.New("--pprof: the work was over before the profile had a sample; try a higher --repeat")
	}
	fmt.Fprintf(log, "corona: the profile is at http://%s/flamegraph until interrupted\n", listener.Addr())
	return driver.PProf(&driver.Options{
		Flagset: newViewFlags("-http="+listener.Addr().String(), "-no_browser", "-symbolize=none", "solve"),
		Fetch:   viewSource{cpu},
		UI:      viewUI{log},
		HTTPServer: func(args *driver.HTTPServerArgs) error {
			return serveView(ctx, listener, args.Handlers)
		},
	})
}

// serveView serves pages until the context ends.
func serveView(ctx context.Context, listener net.Listener, pages map[string]http.Handler) error {
	server := &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			page := pages[req.URL.Path]
			switch {
			case !loopbackName(req.Host): // a page elsewhere whose name now leads here
				http.Error(w, "this view is for its own machine", http.StatusForbidden)
			case page == nil:
				http.NotFound(w, req)
			default:
				page.ServeHTTP(w, req)
			}
		}),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
		err := server.Close()
		<-served
		return err
	}
}

// loopbackName says whether a Host header names this machine.
func loopbackName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// viewSource is the one profile that there is to see.
type viewSource struct{ cpu *profile.Profile }

func (s viewSource) Fetch(string, time.Duration, time.Duration) (*profile.Profile, string, error) {
	return s.cpu, "", nil
}

// viewUI passes on what the view has to complain about.
type viewUI struct{ log io.Writer }

func (viewUI) ReadLine(string) (string, error) { return "", io.EOF }
func (viewUI) Print(...any)                    {}
func (ui viewUI) PrintErr(words ...any) {
	fmt.Fprintln(ui.log, "corona:", cli.OneLine(fmt.Sprint(words...)))
}
func (viewUI) IsTerminal() bool                    { return false }
func (viewUI) WantBrowser() bool                   { return false }
func (viewUI) SetAutoComplete(func(string) string) {}

// viewFlags is pprof's own command line, the flags of which are those of its
// views.
type viewFlags struct {
	*flag.FlagSet
	args []string
}

func newViewFlags(args ...string) viewFlags {
	return viewFlags{flag.NewFlagSet("pprof", flag.ContinueOnError), args}
}

func (f viewFlags) StringList(name, def, usage string) *[]*string {
	list := &[]*string{}
	if def != "" {
		*list = append(*list, &def)
	}
	f.Func(name, usage, func(value string) error {
		*list = append(*list, &value)
		return nil
	})
	return list
}

func (viewFlags) ExtraUsage() string   { return "" }
func (viewFlags) AddExtraUsage(string) {}

func (f viewFlags) Parse(usage func()) []string {
	f.Usage = usage
	if err := f.FlagSet.Parse(f.args); err != nil {
		return nil
	}
	return f.Args()
}
