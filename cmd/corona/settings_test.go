package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/clitest"
)

// settingsProbe is what the command of a program with every kind of flag sees.
type settingsProbe struct {
	interval time.Duration
	ranges   int
	join     []string
	private  bool
	secret   string
	name     string
}

func runProbe(t *testing.T, environ []string, args ...string) (settingsProbe, error) {
	t.Helper()
	var got settingsProbe
	root := &cobra.Command{
		Use: "corona", SilenceErrors: true, SilenceUsage: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return applySettings(cmd, environ) },
	}
	root.PersistentFlags().String(configFlag, "", "")
	probe := &cobra.Command{Use: "probe", RunE: func(*cobra.Command, []string) error { return nil }}
	probe.Flags().DurationVar(&got.interval, "interval", 30*time.Minute, "")
	probe.Flags().IntVar(&got.ranges, "ranges", 16, "")
	probe.Flags().StringSliceVar(&got.join, "join", nil, "")
	probe.Flags().BoolVar(&got.private, "allow-private", false, "")
	probe.Flags().StringVar(&got.secret, "secret", "", "")
	probe.Flags().StringVar(&got.name, "name", "", "")
	cli.MarkSecret(probe, "secret")
	if err := probe.MarkFlagRequired("name"); err != nil {
		t.Fatal(err)
	}
	other := &cobra.Command{Use: "other", RunE: func(*cobra.Command, []string) error { return nil }}
	other.Flags().String("others-flag", "", "")
	root.AddCommand(probe, other)
	root.SetArgs(append([]string{"probe"}, args...))
	err := root.Execute()
	return got, err
}

func writeConfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "corona.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestSettingsPrecedence: flag over environment over file over default.
func TestSettingsPrecedence(t *testing.T) {
	tests := []struct {
		name, flag, env, file string
		want                  time.Duration
	}{
		{"default", "", "", "", 30 * time.Minute},
		{"file", "", "", "3m", 3 * time.Minute},
		{"environment", "", "2m", "", 2 * time.Minute},
		{"flag", "1m", "", "", time.Minute},
		{"environment over file", "", "2m", "3m", 2 * time.Minute},
		{"flag over file", "1m", "", "3m", time.Minute},
		{"flag over environment", "1m", "2m", "", time.Minute},
		{"flag over both", "1m", "2m", "3m", time.Minute},
		{"a flag with the default's value still wins", "30m", "2m", "3m", 30 * time.Minute},
		{"an empty variable is none", "", "EMPTY", "3m", 3 * time.Minute},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			args := []string{"--name=n"}
			var environ []string
			if test.flag != "" {
				args = append(args, "--interval", test.flag)
			}
			if test.env != "" {
				environ = append(environ, "CORONA_INTERVAL="+strings.TrimPrefix(test.env, "EMPTY"))
			}
			if test.file != "" {
				args = append(args, "--config", writeConfig(t, "interval: "+test.file))
			}
			got, err := runProbe(t, environ, args...)
			if err != nil || got.interval != test.want {
				t.Errorf("interval %v, %v; want %v", got.interval, err, test.want)
			}
		})
	}
}

func TestSettingsOfEveryKind(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("whsec_x\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := settingsProbe{interval: 90 * time.Second, ranges: 4, private: true, secret: "whsec_x", name: "n1"}
	environ := []string{
		"CORONA_INTERVAL=90s", "CORONA_RANGES=4", "CORONA_JOIN=a:1,b:2", "CORONA_ALLOW_PRIVATE=true", "CORONA_SECRET_FILE=" + secret, "CORONA_NAME=n1",
		"CORONA_OTHERS_FLAG=x", "CORONA_PORT=tcp://10.0.0.1:8410", "CORONA_SERVICE_HOST=10.0.0.1", "CORONA_PORT_8410_TCP=x", "CORONA_ACTIVE_HELP=0",
		"PATH=/bin", "CORONATION=x", "EMPTY",
	}
	config := writeConfig(t, "interval: 90s\nranges: 4\njoin: [a:1, b:2]\nallow-private: true\nsecret-file: "+secret+"\nname: n1\nothers-flag: x\n")
	for name, run := range map[string]func() (settingsProbe, error){
		"environment":            func() (settingsProbe, error) { return runProbe(t, environ) },
		"file":                   func() (settingsProbe, error) { return runProbe(t, nil, "--config", config) },
		"file of an environment": func() (settingsProbe, error) { return runProbe(t, []string{"CORONA_CONFIG=" + config}) },
	} {
		got, err := run()
		join := strings.Join(got.join, " ")
		got.join = nil
		if err != nil || join != "a:1 b:2" || !equalProbes(got, want) {
			t.Errorf("%s: %+v, join %s, %v; want %+v", name, got, join, err, want)
		}
	}
}

func equalProbes(a, b settingsProbe) bool {
	return a.interval == b.interval && a.ranges == b.ranges && a.private == b.private && a.secret == b.secret && a.name == b.name
}

// TestSettingsRefuse: what is refused is named, with its place.
func TestSettingsRefuse(t *testing.T) {
	tests := []struct {
		name, env, file string
		want            string
	}{
		{"unknown variables", "CORONA_INTERVALL=1m CORONA_ZONE=x", "", "CORONA_INTERVALL, CORONA_ZONE"},
		{"empty unknown variable", "CORONA_INTERVALL=", "", "CORONA_INTERVALL"},
		{"bad value in a variable", "CORONA_INTERVAL=5", "", `CORONA_INTERVAL: value "5": `},
		{"a file for what is no secret", "CORONA_INTERVAL_FILE=x", "", "CORONA_INTERVAL_FILE"},
		{"secret and its file", "CORONA_SECRET=x CORONA_SECRET_FILE=y", "", "CORONA_SECRET_FILE: secret is already set by CORONA_SECRET"},
		{"missing file of a secret", "CORONA_SECRET_FILE=testdata/none", "", "CORONA_SECRET_FILE: open testdata/none"},
		{"help is no setting", "CORONA_HELP=true", "", "CORONA_HELP"},

		{"unknown key", "", "ranges: 4\n\nintervall: 1m", `corona.yaml:3: unknown key "intervall"`},
		{"underscore", "", "allow_private: true", `corona.yaml:1: unknown key "allow_private"`},
		{"bad value", "", "# c\nranges: many", `corona.yaml:2: ranges: value "many"`},
		{"no value", "", "ranges:", "corona.yaml:1: ranges: want a value"},
		{"a mapping", "", "ranges: {a: 1}", "corona.yaml:1: ranges: want a value"},
		{"a list for one value", "", "ranges: [1, 2]", "corona.yaml:1: ranges: want one value"},
		{"a mapping in a list", "", "join:\n- a\n- b: 1", "corona.yaml:1: join: line 3: want a plain value"},
		{"a key twice", "", "ranges: 1\nname: x\nranges: 2", "corona.yaml:3: ranges: ranges is already set by"},
		{"two files for a secret", "", "secret-file: [a, b]", "corona.yaml:1: secret-file: want one file"},
		{"another file", "", "config: x.yaml", "corona.yaml:1: config: a file cannot name another"},
		{"a list", "", "- ranges", "corona.yaml:1: want"},
		{"broken", "", "ranges: [1", "corona.yaml: yaml:"},
		{"two documents", "", "ranges: 1\n---\nranges: 2", "corona.yaml: more than one YAML document"},
		{"too long", "", strings.Repeat("#", maxConfig+1), "longer than"},
		{"merge keys", "", "a: &a {ranges: 1}\n<<: *a", `want a value`},
		{"aliases", "", "name: &a x\njoin: *a", "corona.yaml:2: join: want a value"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			args := []string{"--name=n"}
			if test.file != "" {
				args = append(args, "--config", writeConfig(t, test.file))
			}
			_, err := runProbe(t, strings.Fields(test.env), args...)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if code := cli.ExitCode(err); code != cli.ExitUsage {
				t.Errorf("exit code %d, want %d", code, cli.ExitUsage)
			}
		})
	}
}

func TestSettingsEmptyFiles(t *testing.T) {
	for _, text := range []string{"", "# nothing yet\n", "---\n", "{}"} {
		if got, err := runProbe(t, nil, "--name=n", "--config", writeConfig(t, text)); err != nil || got.ranges != 16 {
			t.Errorf("file %q: ranges %d, %v", text, got.ranges, err)
		}
	}
}

// TestSettingsReach: the real commands take them too.
func TestSettingsReach(t *testing.T) {
	t.Setenv("CORONA_SERVER", clitest.Serve(t, clitest.FakeNode()))
	t.Setenv("CORONA_JSON", "true")
	if got := runCorona(t.Context(), "", "status"); got.Code != cli.ExitDone || !strings.HasPrefix(got.Out, "{") {
		t.Errorf("exit code %d, %s%s", got.Code, got.Out, got.Errs)
	}
	t.Setenv("CORONA_SRVER", "x")
	if got := runCorona(t.Context(), "", "status"); got.Code != cli.ExitUsage || !strings.Contains(got.Errs, "CORONA_SRVER") {
		t.Errorf("exit code %d, standard error %s", got.Code, got.Errs)
	}
	if got := runCorona(t.Context(), "", "__complete", "status", ""); got.Code != cli.ExitDone {
		t.Errorf("completion: exit code %d, standard error %s", got.Code, got.Errs)
	}
}
