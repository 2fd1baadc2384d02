// Package view shows profiles in google/pprof's web view, to this machine alone.
package view

import (
	"context"
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

// Serve shows a profile, less another one unless base is nil, until the context ends. It
// closes the listener.
func Serve(ctx context.Context, listener net.Listener, shown, base *profile.Profile, log io.Writer) error {
	defer listener.Close()
	args := []string{"-http=" + listener.Addr().String(), "-no_browser", "-symbolize=none"}
	if base != nil {
		args = append(args, "-diff_base=base")
	}
	fmt.Fprintf(log, "corona: the profile is at http://%s/flamegraph until interrupted\n", listener.Addr())
	return driver.PProf(&driver.Options{
		Flagset: newViewFlags(append(args, "shown")...),
		Fetch:   viewSource{"shown": shown, "base": base},
		UI:      viewUI{log},
		HTTPServer: func(args *driver.HTTPServerArgs) error {
			return serveView(ctx, listener, args.Handlers)
		},
	})
}

// Listen listens at an address of this machine alone: a profile tells
// what a program does, and the view runs tools to show it.
func Listen(ctx context.Context, address string) (net.Listener, error) {
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

// viewSource holds the profiles that there are to see.
type viewSource map[string]*profile.Profile

func (s viewSource) Fetch(name string, _, _ time.Duration) (*profile.Profile, string, error) {
	return s[name], "", nil
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
