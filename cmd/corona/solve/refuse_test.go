package solve

import (
	"context"
	"strings"
	"testing"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
)

func TestSolveRefusesRows(t *testing.T) {
	tests := []struct{ rows, want string }{
		{"a,1,1\n", "line 2, column update_interval_s: is missing"},
		{"a,,1,60\n", "line 2, column subscribers: is missing"},
		{",1,1,60\n", "line 2, column channel: is missing"},
		{"a,1,1,60,7\n", "line 2 has 5 fields, the header 4"},
		{"a,1,1,60\nb,-2,1,60\n", `line 3, column subscribers: "-2" is negative`},
		{"a,1,-0.5,60\n", `column size_bytes: "-0.5" is negative`},
		{"a,1,1,NaN\n", "column update_interval_s: is not a number (NaN)"},
		{"a,1,1,Inf\n", `column update_interval_s: "Inf" is out of range`},
		{"a,1,1,1e400\n", `"1e400" is out of range`},
		{"a,1e-200,1,60\n", `column subscribers: "1e-200" is out of range`},
		{"a,1,many,60\n", `column size_bytes: "many" is not a number`},
		{"a,0x1p3,1,60\n", `"0x1p3" is not a number`},
		{"a,1_000,1,60\n", `"1_000" is not a number`},
		{"a,1,1,60\n\nb,1,1,60\na,2,1,60\n", `line 5, column channel: "a" is there already, in data row 1`},
		{"a\"b,1,1,60\n", "line 2 has a \" inside"},
		{"a\"b,1,1,60\n" + strings.Repeat("c\n", maxRecord), "line 2 has a \" inside"},
		{"\"b,1,1,60\n" + strings.Repeat("c\n", maxRecord), "line 2 is longer than 256 KiB"},
		{"\"a\nb\",1,1,60\nc,1,1,60\n\"open,1,1,60\n", "line 5 has a \" that is never closed"},
		{strings.Repeat("x", maxRecord) + ",1,1,60\n", "line 2 is longer than 256 KiB"},
		{"a,1,1," + strings.Repeat("9x", 1000) + "\n", "…"},
		{"\x1b[31m,1,1,60\n\x1b[31m,1,1,60\n", `"\x1b[31m" is there already`},
	}
	for _, test := range tests {
		checkRefused(t, solveHeader+test.rows, test.want)
	}
	headers := []struct{ text, want string }{
		{"", "standard input is empty"},
		{"\n\n", "standard input is empty"},
		{"subscribers,size_bytes,update_interval_s\n", "line 1, column channel: is missing in the header"},
		{"channel,size_bytes,update_interval_s\n", "line 1, column subscribers: is missing in the header"},
		{"channel,channel,subscribers,size_bytes,update_interval_s\n", `column "channel": is in the header twice`},
	}
	for _, test := range headers {
		checkRefused(t, test.text, test.want)
	}
}

// checkRefused runs corona solve and wants exit 2, one line, and nothing else.
func checkRefused(t *testing.T, stdin, want string, args ...string) {
	t.Helper()
	got := runCorona(t.Context(), stdin, append([]string{"solve", "--in", "-"}, args...)...)
	errs := got.Errs
	for strings.HasPrefix(errs, "standard input: ") { // how far it is, where that takes long
		_, errs, _ = strings.Cut(errs, "\n")
	}
	if got.Code != cli.ExitUsage || got.Out != "" || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, want) || len(errs) > 300 {
		t.Errorf("%v, %.60q: exit %d, %q %q; want %q", args, stdin, got.Code, got.Out, got.Errs, want)
	}
}

func TestSolveRefusesFlags(t *testing.T) {
	tests := []struct{ args, want string }{
		{"--floor 1h", "floor 1h0m0s is not within the interval"},
		{"--floor 0s", "--floor 0s"},
		{"--interval 1ms", "under a second"},
		{"--nodes 0", "0 nodes"},
		{"--policy best", `policy "best"`},
		{"--policy fast", "needs a target"},
		{"--target 1m", "--target is for policy fast"},
		{"--ladder prefix:1", `ladder "prefix:1"`},
		{"--cost euros", `cost "euros"`},
		{"--budget 0", "--budget"},
		{"--budget NaN", "--budget"},
		{"--budget -1", "--budget"},
		{"--host-cap -1", "host cap -1"},
		{"--host-cap 5", "--host-cap needs it"},
		{"--repeat 0", "--repeat 0"},
		{"--out -", "standard output is for what was found"},
		{"--out no-such-folder/x", "no such file"},
		{"--cpuprofile no-such-folder/x", "no such file"},
		{"--pprof 0.0.0.0:0", "not a loopback address"},
		{"--pprof 192.0.2.1:80", "not a loopback address"},
		{"--pprof nonsense", "--pprof nonsense"},
		{"extra", `unexpected argument "extra" (see corona solve --help)`},
	}
	for _, test := range tests {
		checkRefused(t, twoChannels, test.want, strings.Fields(test.args)...)
	}
	if got := runCorona(t.Context(), "", "solve"); got.Code != cli.ExitUsage || !strings.Contains(got.Errs, "--in is missing") {
		t.Errorf("exit %d, %q", got.Code, got.Errs)
	}
}

func TestSolveInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := runCorona(ctx, twoChannels, "solve", "--in", "-"); got.Code != cli.ExitNo || got.Errs != "corona: interrupted\n" {
		t.Errorf("exit %d, %q", got.Code, got.Errs)
	}
}
