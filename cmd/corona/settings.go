package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
)

const settingsLong = `Every flag of every command can also be set in two other places:

  environment    CORONA_ and the flag's name in upper case, with _ for -:
                 CORONA_LOG_LEVEL=debug is --log-level debug
  YAML file      the one that --config or CORONA_CONFIG names: its keys are the
                 names of flags, its durations are written like on the command
                 line (30m), lists as YAML lists

A flag wins over the environment, which wins over the file. An empty variable
counts as none. Secrets can stand in files of their own: CORONA_SECRET_FILE, or
the key secret-file, names the file that holds --secret.

A variable or key that is no flag of any command is refused by its name, so that
a misspelling does not go unseen. One that belongs to another command is ignored:
one environment and one file serve a node and its clients.

For example, "corona serve --config corona.yaml" with this corona.yaml:

  data: /var/lib/corona
  interval: 10m
  contact: https://example.org/bot`

func newSettingsTopic() *cobra.Command {
	return &cobra.Command{Use: "settings", Short: "Flags, environment and the --config file", Long: settingsLong}
}

const (
	envPrefix  = "CORONA_"
	configFlag = "config"
	maxSecret  = 64 << 10 // bytes
)

// setting is a value for a flag from outside the command line.
type setting struct {
	flag   string
	origin string   // where it was read, for messages: "CORONA_X" or "corona.yaml:3: x"
	values []string // several for a flag that is a list
	inFile bool     // values is the path of the file that holds the value
}

// applySettings sets the flags of cmd that the command line left alone.
func applySettings(cmd *cobra.Command, environ []string) error {
	if cmd.DisableFlagParsing { // the shell's completion: it must not fail
		return nil
	}
	known := flagsOf(cmd.Root())
	fromEnv, err := readEnv(environ, known)
	if err != nil {
		return err
	}
	if err := apply(cmd.Flags(), fromEnv); err != nil {
		return err
	}
	file, err := cmd.Flags().GetString(configFlag)
	if err != nil || file == "" {
		return err
	}
	fromFile, err := readConfig(file, known)
	if err != nil {
		return err
	}
	return apply(cmd.Flags(), fromFile)
}

// apply sets the flags that nothing has set so far. Two settings of one flag are
// refused before: readEnv and readConfig see to it.
func apply(flags *pflag.FlagSet, settings []setting) error {
	for _, s := range settings {
		flag := flags.Lookup(s.flag)
		if flag == nil || flag.Changed {
			continue
		}
		if err := s.set(flags, flag); err != nil {
			return fmt.Errorf("%s: %w", s.origin, err)
		}
	}
	return nil
}

func (s setting) set(flags *pflag.FlagSet, flag *pflag.Flag) error {
	if !s.inFile {
		return setFlag(flags, flag, s.values)
	}
	secret, err := cli.ReadFile(s.values[0], maxSecret)
	if err != nil {
		return err
	}
	return setFlag(flags, flag, []string{strings.TrimRight(string(secret), "\r\n")})
}

func setFlag(flags *pflag.FlagSet, flag *pflag.Flag, values []string) error {
	if list, ok := flag.Value.(pflag.SliceValue); ok && len(values) != 1 {
		if err := list.Replace(values); err != nil {
			return err
		}
		flag.Changed = true
		return nil
	}
	if len(values) != 1 {
		return errors.New("want one value, have a list")
	}
	err := flags.Set(flag.Name, values[0])
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		return fmt.Errorf("value %q: %w", invalid.GetValue(), cli.WantedOf(invalid))
	}
	return err
}

// flagsOf returns the flags that can be set from outside, by name: those of any
// command. Of flags with the same name any one stands for all.
func flagsOf(root *cobra.Command) map[string]*pflag.Flag {
	known := map[string]*pflag.Flag{}
	add := func(flag *pflag.Flag) {
		if flag.Name != "help" && (known[flag.Name] == nil || cli.IsSecret(flag)) {
			known[flag.Name] = flag
		}
	}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.PersistentFlags().VisitAll(add)
		cmd.Flags().VisitAll(add)
		for _, child := range cmd.Commands() {
			walk(child)
		}
	}
	walk(root)
	return known
}

// readEnv returns the settings in an environment, sorted by variable. All
// unknown variables are named at once.
func readEnv(environ []string, known map[string]*pflag.Flag) ([]setting, error) {
	var settings []setting
	var unknown []string
	for _, pair := range slices.Sorted(slices.Values(environ)) {
		name, value, _ := strings.Cut(pair, "=")
		word, ours := strings.CutPrefix(name, envPrefix)
		if !ours || isForeign(word) {
			continue
		}
		s, ok := resolve(strings.ReplaceAll(strings.ToLower(word), "_", "-"), name, []string{value}, known)
		if !ok {
			unknown = append(unknown, name)
		} else if value != "" { // an empty variable is as good as none
			settings = append(settings, s)
		}
	}
	if len(unknown) > 0 {
		return nil, fmt.Errorf("environment: no command has a flag for %s", strings.Join(unknown, ", "))
	}
	return settings, checkOnce(settings)
}

// isForeign reports whether a variable, without its prefix, is put there by
// others: by Kubernetes and Docker for a service named corona, or for the
// shell's completion.
func isForeign(word string) bool {
	return word == "PORT" || strings.HasPrefix(word, "PORT_") || strings.HasPrefix(word, "SERVICE_") ||
		word == "ACTIVE_HELP" || word == "COMPLETION_DESCRIPTIONS"
}

// resolve finds the flag that a key means.
func resolve(key, origin string, values []string, known map[string]*pflag.Flag) (s setting, ok bool) {
	if known[key] != nil {
		return setting{flag: key, origin: origin, values: values}, true
	}
	name, inFile := strings.CutSuffix(key, "-file")
	if !inFile || known[name] == nil || !cli.IsSecret(known[name]) {
		return setting{}, false
	}
	return setting{flag: name, origin: origin, values: values, inFile: true}, true
}

// checkOnce refuses two settings of one flag: a key twice, or beside its file.
func checkOnce(settings []setting) error {
	origins := map[string]string{}
	for _, s := range settings {
		if first, twice := origins[s.flag]; twice {
			return fmt.Errorf("%s: %s is already set by %s", s.origin, s.flag, first)
		}
		origins[s.flag] = s.origin
	}
	return nil
}
