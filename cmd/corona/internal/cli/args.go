package cli

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// CheckBase refuses a --url that links cannot be resolved against.
func CheckBase(raw string) error {
	if base, err := url.Parse(raw); raw != "" && (err != nil || base.Scheme == "" || base.Host == "") {
		return fmt.Errorf("--url %q: want a whole URL, such as https://example.com/page", raw)
	}
	return nil
}

// FlagError adds to a flag error what leads on from there.
func FlagError(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		err = fmt.Errorf("--%s %q: %w", invalid.GetFlag().Name, invalid.GetValue(), WantedOf(invalid))
	}
	return fmt.Errorf("%w (see %s --help)", err, cmd.CommandPath())
}

// WantArgs asks for exactly these arguments, words such as "URL" for the
// message. Of one that ends in "…" there may be more.
func WantArgs(words ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		many := len(words) > 0 && strings.HasSuffix(words[len(words)-1], "…")
		switch {
		case len(args) < len(words):
			return FlagError(cmd, fmt.Errorf("%s is missing", strings.TrimSuffix(words[len(args)], "…")))
		case len(args) > len(words) && !many:
			return FlagError(cmd, fmt.Errorf("unexpected argument %q", args[len(words)]))
		}
		return nil
	}
}
