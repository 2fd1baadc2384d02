package trace

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/clitest"
)

func TestTraceCommand(t *testing.T) {
	trace := clitest.TextFile(t, "trace.jsonl.zst", clitest.TraceText(t, clitest.FeedText(2, 1), clitest.FeedText(3, 2, 1), "", clitest.FeedText(2, 3, 1), clitest.FeedText(4, 3, 2)))
	got := runCorona(t.Context(), "", "trace", "--json", trace)
	var r traceResult
	if err := json.Unmarshal([]byte(got.Out), &r); err != nil || got.Code != cli.ExitDone {
		t.Fatalf("exit %d, %v: %s%s", got.Code, err, got.Out, got.Errs)
	}
	first, last := r.Verdicts[1][5], r.Verdicts[4][5]
	want := [][6]int64{{1_600_000_000}, {1_600_000_060, 1, 1, 0, 0, first}, {1_600_000_120}, {1_600_000_180}, {1_600_000_240, 1, 1, 0, 0, last}}
	if fmt.Sprint(r.Verdicts) != fmt.Sprint(want) || first == 0 || last == 0 {
		t.Errorf("verdicts %v\nwant %v", r.Verdicts, want)
	}
	r.Verdicts, r.CoreBytes = nil, 0
	totals := traceResult{Captures: 5, Germane: 2, Noise: 2, Failed: 1, Added: 2,
		DocumentBytes: len(clitest.FeedText(3, 2, 1)) + len(clitest.FeedText(4, 3, 2)), DeltaBytes: int(first + last)}
	if fmt.Sprintf("%+v", r) != fmt.Sprintf("%+v", totals) {
		t.Errorf("%+v\nwant %+v", r, totals)
	}
}

func TestTraceCommandForPeople(t *testing.T) {
	stdin := clitest.TraceText(t, clitest.FeedText(1), clitest.FeedText(2, 1))
	got := runCorona(t.Context(), stdin, "trace", "-", "--updates")
	for _, want := range []string{"2020-09-13 12:27:40Z", "+ Story 2", "+entry: id-2", "2: 1 germane, 1 noise, 0 failed", "patch errors"} {
		if got.Code != cli.ExitDone || !strings.Contains(got.Out, want) {
			t.Errorf("exit %d, %q is missing in\n%s%s", got.Code, want, got.Out, got.Errs)
		}
	}
}
