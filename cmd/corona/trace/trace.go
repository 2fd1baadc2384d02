// Package trace is corona trace: it replays a recorded history of a document through the
// difference engine and counts the updates.
package trace

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/deltas"
)

const long = `Replay the recorded history of a document through the difference engine and the
judge, as one poller would report it: what became a new version, what was noise,
and how many bytes the updates took. FILE is zstd-compressed JSON lines,
{"t":UNIX_SECONDS,"body":"…"} ("b64" for what is not UTF-8), oldest first; "-"
is standard input.

--json prints totals and a verdict for each capture:
[t,germane,added,changed,removed,delta_bytes]. The first capture is what later
ones are compared with, and no update. delta_bytes is the smallest delta
to the version before, hashes included, as corona diff makes it; nodes
send each other deltas half as large again, made in an eighth of the time. With
document_bytes it is summed over germane captures.

Exit code 1: a delta did not turn the old content into the new.`

const example = `  corona trace trace.jsonl.zst
  corona trace trace.jsonl.zst --updates | less -R
  corona trace trace.jsonl.zst --json | jq '.delta_bytes / .document_bytes'`

type traceFlags struct {
	url     string
	json    bool
	updates bool
}

func NewCommand() *cobra.Command {
	var flags traceFlags
	cmd := &cobra.Command{
		Use:     "trace FILE",
		Short:   "Replay a recorded history: what was news, what was noise",
		Long:    long,
		Example: example,
		Args:    cli.WantArgs("FILE"),
		RunE:    func(cmd *cobra.Command, args []string) error { return flags.run(cmd, args[0]) },
	}
	cmd.Flags().StringVar(&flags.url, "url", "", "`URL` that the document came from, to resolve links against")
	cmd.Flags().BoolVar(&flags.updates, "updates", false, "print each update as subscribers would see it")
	cli.AddJSON(cmd, &flags.json)
	cmd.MarkFlagsMutuallyExclusive("json", "updates")
	return cmd
}

// traceResult is what --json prints.
type traceResult struct {
	Captures      int        `json:"captures"`
	Germane       int        `json:"germane"`
	Noise         int        `json:"noise"` // readable and no update: the first capture, what was held, what said the same
	Failed        int        `json:"failed"`
	Added         int        `json:"added"`
	Changed       int        `json:"changed"`
	Removed       int        `json:"removed"`
	DocumentBytes int        `json:"document_bytes"`
	CoreBytes     int        `json:"core_bytes"`
	DeltaBytes    int        `json:"delta_bytes"`
	PatchErrors   int        `json:"patch_errors"`
	Verdicts      [][6]int64 `json:"verdicts"`
}

func (f *traceFlags) run(cmd *cobra.Command, path string) error {
	if err := cli.CheckBase(f.url); err != nil {
		return err
	}
	file := io.NopCloser(cmd.InOrStdin())
	if path != "-" {
		var err error
		if file, err = os.Open(path); err != nil {
			return err
		}
	}
	defer file.Close()
	result, err := f.replay(cmd, file)
	if cmd.Context().Err() != nil {
		return cli.ErrInterrupted
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if f.json {
		err = cli.PrintJSONLine(cmd.OutOrStdout(), result)
	} else {
		err = printTrace(cmd.OutOrStdout(), result)
	}
	if err == nil && result.PatchErrors > 0 {
		return cli.Exit(cli.ExitNo, fmt.Errorf("%s: %s", path, cli.Count(result.PatchErrors, "patch error")))
	}
	return err
}

func (f *traceFlags) replay(cmd *cobra.Command, r io.Reader) (*traceResult, error) {
	result := &traceResult{Verdicts: [][6]int64{}}
	printer := cli.NewUpdatePrinter(cmd.OutOrStdout())
	var replay deltas.Replay
	for c, err := range readTrace(r) {
		if err != nil {
			return nil, err
		}
		if err := cmd.Context().Err(); err != nil {
			return nil, err
		}
		body, err := c.document()
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", result.Captures+1, err)
		}
		at := time.Unix(0, int64(c.Time*1e9)).UTC()
		step := replay.Capture(deltas.Document{Body: body, ContentType: c.Header["Content-Type"], URL: f.url}, at)
		result.add(int64(c.Time), len(body), step)
		if f.updates && step.Update != nil {
			printer.Step(at, step)
		}
	}
	if result.Captures == 0 {
		return nil, errors.New("no capture in it")
	}
	return result, printer.Flush()
}

// add counts a capture.
func (r *traceResult) add(t int64, bytes int, step deltas.Step) {
	verdict := [6]int64{t}
	r.Captures++
	switch u := step.Update; {
	case step.Err != nil:
		r.Failed++
	case u == nil:
		r.Noise++
	default:
		added, changed, removed := len(u.Entries.Added), len(u.Entries.Changed), len(u.Entries.Removed)
		verdict = [6]int64{t, 1, int64(added), int64(changed), int64(removed), int64(u.DeltaBytes)}
		r.Germane++
		r.Added += added
		r.Changed += changed
		r.Removed += removed
		r.DocumentBytes += bytes
		r.CoreBytes += len(step.Core.Content())
		r.DeltaBytes += u.DeltaBytes
		if step.Patch != nil {
			r.PatchErrors++
		}
	}
	r.Verdicts = append(r.Verdicts, verdict)
}

func printTrace(out io.Writer, r *traceResult) error {
	w := bufio.NewWriter(out)
	cli.Fact(w, "captures", "%d: %d germane, %d noise, %d failed", r.Captures, r.Germane, r.Noise, r.Failed)
	cli.Fact(w, "entries", "%d added, %d changed, %d removed", r.Added, r.Changed, r.Removed)
	ratio := 0.0
	if r.DocumentBytes > 0 {
		ratio = 100 * float64(r.DeltaBytes) / float64(r.DocumentBytes)
	}
	cli.Fact(w, "delta", "%d bytes, %.2f %% of the %d bytes of germane documents", r.DeltaBytes, ratio, r.DocumentBytes)
	cli.Fact(w, "patch errors", "%d", r.PatchErrors)
	return w.Flush()
}
