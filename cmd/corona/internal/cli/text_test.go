package cli

import "testing"

func TestClean(t *testing.T) {
	tests := []struct{ text, want string }{
		{"plain äöü 日本 🙂", "plain äöü 日本 🙂"},
		{"a\nb\tc", "a b c"},
		{"\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`},
		{"\u009b31m", `\u009b31m`},
		{"a\u202eb\u2066c", `a\u202eb\u2066c`},
		{"\xff", `\ufffd`},
		{"\r\x00\x7f", `\r\x00\x7f`},
		{"\u2028", `\u2028`},
	}
	for _, test := range tests {
		if got := Clean(test.text); got != test.want {
			t.Errorf("clean(%q) = %q, want %q", test.text, got, test.want)
		}
	}
}

func TestShellWord(t *testing.T) {
	tests := []struct{ text, want string }{
		{"https://a.example/x_y-z?", "'https://a.example/x_y-z?'"},
		{"https://a.example/~x", "'https://a.example/~x'"},
		{"https://a.example/x,y:z%20=+@", "https://a.example/x,y:z%20=+@"},
		{"a'b", `'a'\''b'`},
		{"$(x)", "'$(x)'"},
		{"", "''"},
		{"ä", "'ä'"},
	}
	for _, test := range tests {
		if got := ShellWord(test.text); got != test.want {
			t.Errorf("shellWord(%q) = %s, want %s", test.text, got, test.want)
		}
	}
}

func TestNumber(t *testing.T) {
	tests := []struct {
		x    float64
		want string
	}{
		{0, "0"}, {6, "6"}, {24000, "24000"}, {1. / 48, "0.021"}, {0.5, "0.500"}, {12.34, "12.3"}, {22000.5, "22000"}, {100.7, "101"},
	}
	for _, test := range tests {
		if got := Number(test.x); got != test.want {
			t.Errorf("number(%v) = %s, want %s", test.x, got, test.want)
		}
	}
}
