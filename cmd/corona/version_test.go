package main

import "testing"

// TestVersionFlag: the flag of most programs and the command print the same line.
func TestVersionFlag(t *testing.T) {
	want := runCorona(t.Context(), "", "version")
	if want.code != exitDone || want.out == "" {
		t.Fatalf("version: exit code %d, printed %q", want.code, want.out)
	}
	for _, flag := range []string{"--version", "-v"} {
		if got := runCorona(t.Context(), "", flag); got != want {
			t.Errorf("%s: %+v, want %+v", flag, got, want)
		}
	}
}
