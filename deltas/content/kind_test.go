package content

import "testing"

func TestKind(t *testing.T) {
	for kind := KindText; kind <= KindFeed; kind++ {
		if got, err := ParseKind(kind.String()); err != nil || got != kind {
			t.Errorf("ParseKind(%q) = %v, %v", kind.String(), got, err)
		}
	}
	for _, name := range []string{"", "auto", "unknown", "Feed"} {
		if got, err := ParseKind(name); err == nil {
			t.Errorf("ParseKind(%q) = %v", name, got)
		}
	}
	if got := Kind(200).String(); got != "unknown" {
		t.Errorf("Kind(200) = %q", got)
	}
}
