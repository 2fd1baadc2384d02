package wedge

import (
	"strings"
	"testing"
	"time"
)

// Each node polls, or no more, once that has been seen for ten seconds; changes that come close
// together are adopted together, but none waits longer than twenty seconds.
func TestFollow(t *testing.T) {
	every := func(seconds int, a, b string) func(int) string {
		return func(at int) string {
			if at/seconds%2 == 0 {
				return a
			}
			return b
		}
	}
	from := func(steps map[int]string) func(int) string {
		return func(at int) (seen string) {
			for ; seen == ""; at-- {
				seen = steps[at]
			}
			return seen
		}
	}
	for _, test := range []struct {
		name string
		seen func(second int) string
		want map[int]string // who polls from which second on
	}{
		{"one leaves", from(map[int]string{0: "abc", 5: "ab"}), map[int]string{15: "ab"}},
		{"one leaves for a moment", from(map[int]string{0: "abc", 5: "ab", 14: "abc"}), nil},
		{"one joins", from(map[int]string{0: "ab", 5: "abc"}), map[int]string{15: "abc"}},
		{"one leaves and another joins", from(map[int]string{0: "abc", 5: "ab", 12: "abd"}), map[int]string{22: "abd"}},
		{"many join one by one", from(map[int]string{0: "a", 5: "ab", 12: "abc", 19: "abcd", 26: "abcde"}), map[int]string{25: "abc", 36: "abcde"}},
		{"one comes and goes all the time", every(5, "abc", "ab"), nil},
		{"another leaves meanwhile", func(at int) string {
			if at < 12 {
				return every(5, "abcd", "abd")(at)
			}
			return every(5, "abc", "ab")(at)
		}, map[int]string{22: "abc"}},
		{"this node is not seen", from(map[int]string{0: "ab", 5: "b"}), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			now := time.Unix(1e9, 0)
			at := 0
			m := membership{self: Member{ID: "a"}, stands: 10 * time.Second, around: func() (all []Member) {
				for _, id := range test.seen(at) {
					all = append(all, Member{ID: string(id)})
				}
				return all
			}}
			polls := func() string {
				var ids strings.Builder
				for _, one := range m.roster().members {
					ids.WriteString(one.ID)
				}
				return ids.String()
			}
			want := polls()
			for ; at < 60; at++ {
				adopted := m.follow(m.look(), now)
				if next, ok := test.want[at]; adopted != ok {
					t.Errorf("second %d: %s poll, adopted now: %v", at, polls(), adopted)
				} else if ok {
					want = next
				}
				if got := polls(); got != want {
					t.Fatalf("second %d: %s poll, want %s", at, got, want)
				}
				now = now.Add(time.Second)
			}
		})
	}
}
