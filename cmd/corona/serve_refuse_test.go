package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
)

// senseless are values that make no sense, by flag of corona serve, and what the
// refusal says. Each must be refused wherever it stands.
var senseless = map[string][]struct {
	value string
	want  cli.Wanted
}{
	"data":             {},
	"listen":           {{"8410", "want HOST:PORT"}, {"127.0.0.1:http", `port "http"`}, {"127.0.0.1:99999", `port "99999"`}, {"0.0.0.0:0", "not a loopback address"}},
	"name":             {{"a b", `name "a b": want 1 to 64 letters`}, {"-", `name "-"`}, {strings.Repeat("n", 65), "want 1 to 64"}},
	"ranges":           {{"0", wantWhole}, {"-1", wantWhole}, {"1025", "ranges 1025: want 1 to 1024"}, {"NaN", wantWhole}, {"1.5", wantWhole}},
	"interval":         {{"0", wantDuration}, {"-30m", wantDuration}, {"1ms", "interval 1ms: want 1s to 8760h"}, {"8761h", "interval 8761h"}, {"30", wantDuration}, {"NaN", wantDuration}, {"Inf", wantDuration}, {"9999999999h", wantDuration}},
	"floor":            {{"0", wantDuration}, {"0s", wantDuration}, {"-1s", wantDuration}, {"1ns", "floor 1ns: want 1ms at least"}, {"1h", "floor 1h: want at most the interval, 30m"}, {"NaN", wantDuration}},
	"policy":           {{"best", `policy "best"`}, {"fast", "policy fast: want a target"}},
	"target":           {{"0", wantDuration}, {"-1m", wantDuration}, {"1m", "target 1m: is for policy fast, not lite"}, {"NaN", wantDuration}},
	"budget":           {{"0", cli.WantBudget}, {"-1", cli.WantBudget}, {"many", cli.WantBudget}, {"NaN", cli.WantBudget}, {"Inf", cli.WantBudget}, {"1e20", "budget 1e+20: want more than 0, at most 1e+18"}, {"1e999", cli.WantBudget}},
	"cost":             {{"euros", `cost "euros"`}},
	"ladder":           {{"prefix:1", `ladder "prefix:1"`}, {"geometric:1", "geometric:1"}, {"geometric:NaN", "geometric:NaN"}, {"geometric:Inf", "geometric:Inf"}},
	"maintenance":      {{"0", wantDuration}, {"-10m", wantDuration}, {"1ms", "maintenance 1ms: want 1s to 8760h"}, {"100000h", "maintenance 100000h"}},
	"host-gap":         {{"-1s", "want a duration such as 2s, or 0 for none"}, {"soon", "or 0 for none"}, {"100000h", "host gap 100000h: want 0s to 8760h"}},
	"host-parallel":    {{"0", wantWhole}, {"-2", wantWhole}, {"many", wantWhole}},
	"retain-bytes":     {{"0", wantWhole}, {"-1", wantWhole}, {"1e9", wantWhole}, {"1GiB", wantWhole}},
	"disk-reserve":     {{"0", wantWhole}, {"-1", wantWhole}, {"1", "disk reserve 1: want 4194304 bytes at least"}},
	"contact":          {{"a\x01b", "control characters"}},
	"allow-private":    {{"perhaps", "want true or false"}},
	"insecure-api":     {{"perhaps", "want true or false"}},
	"api-token":        {{"short", "16"}},
	"cluster":          {{"8411", "want HOST:PORT"}, {"127.0.0.1:x", `port "x": want 0 to 65535`}, {"0.0.0.0:8411", "the address that other nodes reach"}, {":8411", "the address that other nodes reach"}, {"10.0.0.1:8411", "not a loopback address"}, {"127.0.0.1:8411", "gossip: want HOST:PORT"}},
	"gossip":           {{"127.0.0.1:8412", wantCluster}},
	"join":             {{"127.0.0.1:8412", wantCluster}, {"a:1,b:2", wantCluster}},
	"bootstrap-expect": {{"0", wantWhole}, {"-1", wantWhole}, {"many", wantWhole}, {"3", wantCluster}},
	"fan-out":          {{"0", wantWhole}, {"-1", wantWhole}, {"2", wantCluster}},
	"replicas":         {{"0", wantWhole}, {"-1", wantWhole}, {"1.5", wantWhole}, {"3", wantCluster}},
	"replace-after":    {{"0", wantDuration}, {"-1m", wantDuration}, {"30m", wantCluster}},
	"egress":           {{"a", wantCluster}},
	"certs":            {{"corona-certs", wantCluster}},
	"insecure-cluster": {{"perhaps", "want true or false"}},
	"log-level":        {{"loud", "want debug, info, warn or error"}},
}

const wantCluster cli.Wanted = "for nodes of a cluster alone: want cluster too"

// TestServeRefuses: what no node can be is wrong usage, said in one line that names the
// setting and where it stands, and leaves nothing behind.
func TestServeRefuses(t *testing.T) {
	command := newServeCommand()
	command.Flags().VisitAll(func(flag *pflag.Flag) {
		tests, known := senseless[flag.Name]
		if !known {
			t.Errorf("--%s: the table says nothing of it", flag.Name)
		}
		for _, test := range tests {
			refuses(t, flag.Name, test.want, "--"+flag.Name+"="+test.value)
			if strings.ContainsRune(test.value, '\x01') {
				continue // no value of YAML
			}
			refuses(t, flag.Name, test.want, "--config", writeConfig(t, flag.Name+": '"+test.value+"'"))
			t.Run("environment", func(t *testing.T) {
				t.Setenv(envPrefix+strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_")), test.value)
				refuses(t, flag.Name, test.want)
			})
		}
	})
	refuses(t, "data", "--data: want a directory", "--data=")
	refuses(t, "target", "target 1m: is for policy fast, not fair", "--policy=fair", "--target=1m")
	refuses(t, "floor", "floor 30m: want at most the interval, 10m", "--floor=30m", "--interval=10m")
}

// TestServeRefusesCluster: what no node of a cluster can be is refused as what no node
// can be.
func TestServeRefusesCluster(t *testing.T) {
	for _, test := range []struct {
		flag string
		want cli.Wanted
		args []string
	}{
		{"gossip", `gossip address "8412": want HOST:PORT`, []string{"--gossip=8412"}},
		{"gossip", `gossip address "127.0.0.1:99999": port "99999"`, []string{"--gossip=127.0.0.1:99999"}},
		{"gossip", "the address that other nodes reach", []string{"--gossip=[::]:8412"}},
		{"gossip", `gossip address "n1.example:8412": not a loopback address`, []string{"--gossip=n1.example:8412"}},
		{"gossip", "is the cluster address too", []string{"--gossip=127.0.0.1:8411"}},
		{"join", `join "": want HOST:PORT`, []string{"--join=a:1,,b:2"}},
		{"join", `join ":1": want HOST:PORT`, []string{"--join=:1"}},
		{"join", `join "a:0": port "0": want 1 to 65535`, []string{"--join=a:0"}},
		{"join", "join: 65 addresses: want 64 at most", []string{"--join=" + strings.Repeat("a:1,", 64) + "a:1"}},
		{"bootstrap-expect", "bootstrap expect 65: want 1 to 64", []string{"--bootstrap-expect=65"}},
		{"replicas", "replicas 8: want 1 to 7", []string{"--replicas=8"}},
		{"replace-after", "replace after 9s: want 10s or more", []string{"--replace-after=9s"}},
		{"fan-out", "fan-out 1025: want 1 to 1024", []string{"--fan-out=1025"}},
		{"egress", `egress "a b": want 1 to 64 letters`, []string{"--egress=a b"}},
	} {
		refuses(t, test.flag, test.want, append([]string{"--cluster=127.0.0.1:8411", "--gossip=127.0.0.1:8412"}, test.args...)...)
	}
}

func refuses(t *testing.T, flag string, want cli.Wanted, args ...string) {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	serve := []string{"serve"}
	for name, value := range map[string]string{"data": data, "listen": "127.0.0.1:0"} {
		if name != flag {
			serve = append(serve, "--"+name, value)
		}
	}
	got := runCorona(t.Context(), "", append(serve, args...)...)
	if got.Code != cli.ExitUsage || strings.Count(got.Errs, "\n") != 1 || !strings.Contains(got.Errs, string(want)) {
		t.Errorf("%s %v: exit code %d, said %q, want %d and %q", flag, args, got.Code, got.Errs, cli.ExitUsage, string(want))
	}
	if words := strings.ReplaceAll(strings.ToLower(got.Errs), "_", "-"); !strings.Contains(words, strings.ReplaceAll(flag, "-", " ")) && !strings.Contains(words, flag) {
		t.Errorf("%s %v: said %q, which does not name the setting", flag, args, got.Errs)
	}
	if _, err := os.Stat(data); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s %v: the data directory: %v; want none", flag, args, err)
	}
}
