package main

import (
	"runtime/debug"
	"strings"
	"testing"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
)

// TestVersionFlag: the flag of most programs and the command print the same line.
func TestVersionFlag(t *testing.T) {
	want := runCorona(t.Context(), "", "version")
	if want.Code != cli.ExitDone || want.Out == "" {
		t.Fatalf("version: exit code %d, printed %q", want.Code, want.Out)
	}
	for _, flag := range []string{"--version", "-v"} {
		if got := runCorona(t.Context(), "", flag); got != want {
			t.Errorf("%s: %+v, want %+v", flag, got, want)
		}
	}
}

func TestBuildOf(t *testing.T) {
	info := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.time", Value: "2026-11-20T09:35:00Z"}, {Key: "vcs.modified", Value: "true"},
	}}
	tests := []struct {
		stamped string
		info    *debug.BuildInfo
		want    string
	}{
		{"", info, "corona v1.2.3 (0123456789ab, modified) go"},
		{"v9", info, "corona v9 (0123456789ab, modified) go"},
		{"", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "corona devel go"},
		{"", &debug.BuildInfo{}, "corona devel go"},
	}
	for _, test := range tests {
		if got := buildOf(test.stamped, test.info); !strings.HasPrefix(got.String(), test.want) {
			t.Errorf("buildOf(%q) = %s, want %s…", test.stamped, got, test.want)
		}
	}
	if got := runCorona(t.Context(), "", "version", "--json"); got.Code != cli.ExitDone || !strings.Contains(got.Out, `"version": "`+versionText()+`"`) {
		t.Errorf("version --json: %+v", got)
	}
}
