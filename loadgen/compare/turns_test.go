package compare

import (
	"fmt"
	"testing"
)

func TestTurns(t *testing.T) {
	for _, test := range []struct {
		runs int
		two  bool
		want string
	}{
		{1, false, "[a-1]"},
		{3, false, "[a-1 a-2 a-3]"},
		{1, true, "[a-1 b-1]"},
		{4, true, "[a-1 b-1 b-2 a-2 a-3 b-3 b-4 a-4]"},
	} {
		if got := fmt.Sprint(Turns(test.runs, test.two)); got != test.want {
			t.Errorf("Turns(%d, %t) = %s, want %s", test.runs, test.two, got, test.want)
		}
	}
}
