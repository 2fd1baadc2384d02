package lists

import (
	"bytes"
	"regexp"
	"testing"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// TestImportBar: a space stands between all parts of the bar, whether the length of the
// list is known or not.
func TestImportBar(t *testing.T) {
	for size, want := range map[int64]string{99: `^feeds\.txt \[.*\] 42 % 7 subscribed, 1/s\n`, 0: `^feeds\.txt +⠋ +7 subscribed, 1/s\n`} {
		var drawn bytes.Buffer
		container := mpb.New(mpb.WithOutput(&drawn), mpb.WithAutoRefresh(), mpb.WithWidth(80))
		bar := newImportBar(container, "feeds.txt", size, func(decor.Statistics) string { return "7 subscribed, 1/s" })
		bar.SetCurrent(42)
		bar.Abort(false)
		container.Wait()
		if !regexp.MustCompile(want).Match(drawn.Bytes()) {
			t.Errorf("drew %q, want %s", &drawn, want)
		}
	}
}
