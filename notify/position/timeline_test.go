package position

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

var update = flag.Bool("update", false, "write what the timelines give")

// TestTimelines runs the scripts in testdata: after each event stands the state that
// it leads to.
//
//	load v2[gone] store 1/0[told] [3:2 …] from 2
//	                      the channel's head, the cursor that the store has (version/seq),
//	                      its stragglers (seq:next version), the lowest first version
//	head v3[gone]         the channel's head moves
//	begin [gap 4]         the pass that is due begins, in a gap up to a version
//	turn 1 from 2 [busy]  a subscription's turn, with its first version
//	accept 1              its endpoint accepts the offer
//	behind 1              its endpoint does not
//	ack 1 v2[gone]        a subscription acknowledges everything up to a step
//	remove 1              a subscription ends
//	end                   the pass ends
//	wait 100ms            time passes
//	expire 100ms          offers that have been open for so long become stragglers
//	save [1]              a save begins, with at most so many removals
//	saved [unknown]       and ends
//
// The state is the cursor (step/seq, * when the pass is done), open offers,
// stragglers with what they need next (! if no pass will reach them), and in
// brackets what the store has, unless it has all there is.
func TestTimelines(t *testing.T) {
	paths, _ := filepath.Glob("testdata/*.txt")
	if len(paths) < 5 {
		t.Fatalf("%d timelines", len(paths))
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := runTimeline(t, string(want))
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(want) {
				t.Errorf("%s is now\n%s", path, got)
			}
		})
	}
}

type timeline struct {
	t     *testing.T
	p     Position
	now   time.Time
	saves channel.Progress
	offer uint64 // the subscription that was offered the step
}

func runTimeline(t *testing.T, script string) string {
	l := &timeline{t: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	var out strings.Builder
	for line := range strings.Lines(script) {
		line = strings.TrimRight(strings.SplitN(line, "|", 2)[0], " \n")
		if line == "" || strings.HasPrefix(line, "#") {
			fmt.Fprintln(&out, line)
			continue
		}
		said := l.do(strings.Fields(line))
		fmt.Fprintf(&out, "%-34s | %s%s\n", line, said, l.state())
	}
	return out.String()
}

// do applies one event and returns what it reported.
func (l *timeline) do(f []string) (said string) {
	switch p := &l.p; f[0] {
	case "load":
		l.load(f[1:])
	case "head":
		p.SetHead(l.step(f[1]))
	case "begin":
		at, due := p.Due()
		if !due {
			return "nothing is due: "
		}
		var gap uint64
		if len(f) == 3 {
			gap = l.number(f[2])
		}
		p.Begin(at, gap)
	case "turn":
		turn := p.Turn(l.number(f[1]), l.number(f[3]), len(f) == 5)
		if l.offer = 0; turn == Offered {
			l.offer = l.number(f[1])
		}
		return [...]string{Nothing: "nothing: ", Offered: "offered: ", Ended: "ended: "}[turn]
	case "accept":
		p.Accept(l.offered(f[1]), l.now)
	case "behind":
		p.SetBehind(l.offered(f[1]), p.At())
	case "ack":
		next := l.step(f[2]) + 1
		if p.Acknowledge(l.number(f[1]), next) {
			return "needs more: "
		}
	case "remove":
		p.Remove(l.number(f[1]))
	case "end":
		if p.End() {
			return "jumped: "
		}
	case "wait":
		l.now = l.now.Add(l.duration(f[1]))
	case "expire":
		p.Expire(l.now.Add(-l.duration(f[1])))
	case "save":
		most := 100
		if len(f) == 2 {
			most = int(l.number(f[1]))
		}
		var changed bool
		if l.saves, changed = p.BeginSave(most); !changed {
			return "nothing new: "
		}
		return "writes " + stored(l.saves) + ": "
	case "saved":
		p.EndSave(l.saves, len(f) == 1)
	default:
		l.t.Fatalf("event %q", f)
	}
	return ""
}

// offered returns the subscription of an answer to an offer.
func (l *timeline) offered(seq string) uint64 {
	if l.number(seq) != l.offer {
		l.t.Fatalf("%s was not offered anything", seq)
	}
	return l.offer
}

func (l *timeline) load(f []string) {
	head := l.step(f[0])
	version, seq, _ := strings.Cut(strings.TrimSuffix(f[2], "told"), "/")
	progress := channel.Progress{Version: l.number(version), Seq: l.number(seq)}
	if strings.HasSuffix(f[2], "told") {
		progress.Seq |= channel.Told
	}
	for _, late := range f[3 : len(f)-2] {
		seq, next, _ := strings.Cut(late, ":")
		progress.Stragglers = append(progress.Stragglers, channel.Straggler{Seq: l.number(seq), Next: l.number(next)})
	}
	l.p = New(head, progress, l.number(f[len(f)-1]))
}

func (l *timeline) state() string {
	p := &l.p
	var out strings.Builder
	out.WriteString(place(p.cursor))
	if p.Done() {
		out.WriteString("*")
	}
	for _, o := range p.offers {
		if !o.closed {
			fmt.Fprintf(&out, " open %d", o.seq)
		}
	}
	for _, seq := range p.Stragglers(0, 100) {
		next, _ := p.Next(seq)
		fmt.Fprintf(&out, " late %d:%s", seq, name(next))
		if p.Behind(seq) {
			out.WriteString("!")
		}
	}
	if !p.Clean() {
		fmt.Fprintf(&out, " [%s", place(p.saved))
		if p.Unsaved() > 0 {
			fmt.Fprintf(&out, ", %d to write", p.Unsaved())
		}
		out.WriteString("]")
	}
	return out.String()
}

func place(c cursor) string {
	if c.seq == lastSeq {
		return name(c.at) + "/all"
	}
	return fmt.Sprintf("%s/%d", name(c.at), c.seq)
}

func stored(p channel.Progress) string {
	out := place(cursorOf(p))
	for _, s := range p.Stragglers {
		out += fmt.Sprintf(" %d:%d", s.Seq, s.Next)
	}
	return out
}

func name(s Step) string {
	if s.Gone() {
		return fmt.Sprintf("v%dgone", s.Version())
	}
	return fmt.Sprintf("v%d", s.Version())
}

func (l *timeline) step(s string) Step {
	version, gone := strings.CutSuffix(strings.TrimPrefix(s, "v"), "gone")
	if gone {
		return GoneStep(l.number(version))
	}
	return VersionStep(l.number(version))
}

func (l *timeline) number(s string) uint64 {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		l.t.Fatal(err)
	}
	return n
}

func (l *timeline) duration(s string) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil {
		l.t.Fatal(err)
	}
	return d
}
