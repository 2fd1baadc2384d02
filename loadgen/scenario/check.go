package scenario

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/seed-91e7e7c1/corona/loadgen/profiles"
	"github.com/seed-91e7e7c1/corona/loadgen/result"
)

// Limits of a scenario, which bound what a run takes.
const (
	maxChannels      = 10_000_000
	maxHosts         = 10_000
	maxSubscriptions = 50_000_000
	maxEndpoints     = 100_000
	maxStreams       = 10_000
	maxBatches       = 64
	maxNodes         = 9
	maxSingles       = 10_000
	maxRanges        = 256
	maxTime          = 24 * time.Hour
	minSpeedup       = 0.001
	maxSpeedup       = 1e6
	filtersOfStream  = 500 // subscriptions that a stream may name
)

// check holds what values have to keep beyond their form. It returns the first that
// does not.
func (d *decoder) check(s *Scenario) error {
	d.wrong = nil
	d.checkRun(s)
	d.checkOrigins(&s.Origins)
	d.want(!s.Origins.TLS || len(s.Target) == 0, "origins.tls", "a target's nodes do not know the origins' authority")
	d.checkSubscriptions(s)
	d.checkEvents(s)
	for i, t := range s.Thresholds {
		d.checkThreshold(s, fmt.Sprintf("thresholds[%d]", i), t)
	}
	return d.wrong
}

// want notes what is wrong with a key, unless it is right.
func (d *decoder) want(right bool, key, format string, args ...any) {
	if right || d.wrong != nil {
		return
	}
	at := place{file: d.file}
	for of := key; of != ""; of = parent(of) { // the default of a key that is not there is its section's affair
		if found, there := d.lines[of]; there {
			at = found
			break
		}
	}
	d.wrong = &Error{at.file, at.line, key, fmt.Errorf(format, args...)}
}

func parent(key string) string {
	return key[:max(strings.LastIndexAny(key, ".["), 0)]
}

func (d *decoder) checkRun(s *Scenario) {
	d.want(s.Name != "" && !strings.ContainsAny(s.Name, "/\\ \n"), "name", "want a name without spaces and slashes")
	d.want(s.Duration > 0 && s.Duration <= maxTime, "duration", "want more than 0 and at most %s", maxTime)
	d.want(s.Warmup <= maxTime, "warmup", "want at most %s", maxTime)
	d.want(s.Nodes.Count >= 1 && s.Nodes.Count <= maxNodes, "nodes.count", "want 1 to %d", maxNodes)
	for i, kind := range s.Profiles {
		d.want(slices.Contains(profiles.Kinds(), kind) && slices.Index(s.Profiles, kind) == i, fmt.Sprintf("profiles[%d]", i), "want each of %s once", strings.Join(profiles.Kinds(), ", "))
	}
	for i, probe := range s.Probes {
		key := fmt.Sprintf("probes[%d]", i)
		d.want(slices.Contains([]string{Memory, Lists, Restart, Backup}, probe) && slices.Index(s.Probes, probe) == i, key, "want each of %s, %s, %s, %s once", Memory, Lists, Restart, Backup)
		d.want(len(s.Target) == 0, key, "nodes that the generator did not start are not probed")
	}
	d.want(!s.Audit || s.Nodes.Count == 1 && len(s.Target) == 0, "audit", "want nodes.count 1: the rules are those of a reader with one address")
	d.want(!s.Audit || !s.Origins.TLS, "audit", "want origins without tls")
	d.want(!s.Rates || s.Nodes.Count == 1 && len(s.Target) == 0, "rates", "want nodes.count 1: the origins do not tell one node from the other")
	for i, target := range s.Target {
		u, err := url.Parse(target)
		d.want(err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "", fmt.Sprintf("target[%d]", i), "want a URL such as http://127.0.0.1:8410")
	}
}

func (d *decoder) checkOrigins(o *Origins) {
	d.want(o.Channels >= 1 && o.Channels <= maxChannels, "origins.channels", "want 1 to %d", maxChannels)
	d.want(o.Hosts >= 1 && o.Hosts <= min(maxHosts, o.Channels), "origins.hosts", "want 1 to %d, and at most one for each channel", maxHosts)
	d.want(o.Speedup >= minSpeedup && o.Speedup <= maxSpeedup, "origins.speedup", "want %g to %g", minSpeedup, maxSpeedup)
	d.want(o.Latency.P99 == 0 || o.Latency.P99 >= o.Latency.P50, "origins.latency.p99", "want p50 or more")
	d.want(o.Latency.P99 <= time.Minute && o.Latency.P50 <= time.Minute, "origins.latency", "want at most 1m")
	d.want(o.Sick.Slow+o.Sick.Hanging+o.Sick.Refusing+o.Sick.Harmful <= 1, "origins.sick", "come to more than 100%%")
	d.want(o.Slow.For <= time.Minute, "origins.slow", "want at most 1m")
}

func (d *decoder) checkSubscriptions(s *Scenario) {
	c := &s.Subscriptions
	d.want(c.Count >= 1 && c.Count <= maxSubscriptions, "subscriptions.count", "want 1 to %d", maxSubscriptions)
	d.want(c.Ramp <= maxTime, "subscriptions.ramp", "want at most %s", maxTime)
	sum := float64(c.Sinks.Webhook + c.Sinks.SSE)
	d.want(sum > 0.999 && sum < 1.001, "subscriptions.sinks", "webhook and sse come to %s, want 100%%", Share(sum))
	d.want(c.Endpoints >= 1 && c.Endpoints <= maxEndpoints, "subscriptions.endpoints", "want 1 to %d", maxEndpoints)
	d.want(c.Streams <= maxStreams, "subscriptions.streams", "want 0 to %d", maxStreams)
	d.want(c.Batches >= 1 && c.Batches <= maxBatches, "subscriptions.batches", "want 1 to %d", maxBatches)
	d.want(c.Singles <= maxSingles, "subscriptions.singles", "want at most %d a second", maxSingles)
	d.want(c.Hang+c.Fail <= 1, "subscriptions.hang", "hang and fail come to more than 100%%")
}

func (d *decoder) checkEvents(s *Scenario) {
	d.want(slices.IsSortedFunc(s.Events, func(a, b Event) int { return cmp.Compare(a.At, b.At) }), "events", "want them by time")
	for i, e := range s.Events {
		key := fmt.Sprintf("events[%d]", i)
		d.want(e.At <= s.Duration, key+".at", "%s is after the window's end", e.At)
		switch e.Do {
		case Kill, Start, Stop, Pause, Resume, Replace:
			d.want(len(s.Target) == 0, key+".do", "nodes that the generator did not start cannot be told to %s", e.Do)
			d.want(e.Node >= 1 && e.Node <= s.Nodes.Count, key+".node", "want 1 to %d", s.Nodes.Count)
			d.want(e.Do != Replace || s.Nodes.Count >= 3, key+".do", "want nodes.count of 3 or more: the others have what the new node is to get")
		case Split:
			d.want(e.Ranges >= 1 && e.Ranges <= maxRanges, key+".ranges", "want 1 to %d", maxRanges)
		case Crowd:
			d.want(e.Subscriptions >= 1 && e.Subscriptions <= maxSubscriptions, key+".subscriptions", "want 1 to %d", maxSubscriptions)
			d.want(e.Over <= s.Duration-e.At, key+".over", "%s is after the window's end", e.At+e.Over)
			fallthrough
		case Update:
			d.want(e.Channel < s.Origins.Channels, key+".channel", "want less than origins.channels, %d", s.Origins.Channels)
		case Leave:
			d.want(e.Share > 0, key+".share", "want more than 0%%")
		default:
			d.want(false, key+".do", "%q: want kill, start, stop, pause, resume, replace, split, crowd, leave or update", e.Do)
		}
	}
}

func (d *decoder) checkThreshold(s *Scenario, key string, t Threshold) {
	known, planned := result.Known(t.Metric)
	d.want(known, key+".metric", "no figure %q; there are %s", t.Metric, strings.Join(result.Names(), ", "))
	d.want(t.Max != nil || t.Min != nil, key, "want a max or a min")
	section, _, _ := strings.Cut(t.Metric, ".")
	measured, optional := map[string]bool{
		"memory": slices.Contains(s.Probes, Memory), "lists": slices.Contains(s.Probes, Lists),
		"restart": slices.Contains(s.Probes, Restart), "backup": slices.Contains(s.Probes, Backup),
		"audit": s.Audit, "rates": s.Rates, "subscribe_ms": s.Subscriptions.Singles > 0, "entries": len(s.Origins.Files) > 0,
	}[section]
	d.want(measured || !optional, key+".metric", "the scenario does not measure %s", section)
	factor := t.Max != nil && t.Max.Planned || t.Min != nil && t.Min.Planned
	d.want(!factor || planned, key, "nothing is planned for %s", t.Metric)
}

// Limits returns the thresholds as a result is judged by them.
func (s *Scenario) Limits() (limits []result.Limit) {
	for _, t := range s.Thresholds {
		limits = append(limits, result.Limit{Metric: t.Metric, Max: t.Max.bound(), Min: t.Min.bound()})
	}
	return limits
}

func (l *Limit) bound() *result.Bound {
	if l == nil {
		return nil
	}
	return &result.Bound{Value: l.Value, Planned: l.Planned}
}
