package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/child"
	"github.com/seed-91e7e7c1/corona/loadgen/scrape"
)

// appended is how many samples Prometheus makes of a scrape: the one it reads, up, and four
// about the scrape.
const appended = 6

// besidePrometheus measures nodes and Prometheus at two numbers of targets, one system at a
// time.
func (w *world) besidePrometheus(ctx context.Context, r *result) error {
	if missing, err := w.missing("prometheus", r); err != nil || missing {
		return err
	}
	o, err := w.startOrigin(ctx, w.many, still)
	if err != nil {
		return err
	}
	defer o.Close()
	for _, measure := range []func(context.Context, *origin, int) (sample, error){w.nodeTargets, w.prometheusTargets} {
		for _, n := range []int{w.few, w.many} {
			s, err := measure(ctx, o, n)
			if err != nil {
				return err
			}
			s.Kind, s.Targets = s.Name, n
			r.Targets = append(r.Targets, s)
			logf("%d targets: %s, %d bytes", n, s, s.Resident)
		}
	}
	r.judgeTargets()
	return nil
}

// nodeTargets measures a node that polls each of n channels once an interval. It begins two
// intervals after the first polls, so that no memory of these is left.
func (w *world) nodeTargets(ctx context.Context, o *origin, n int) (s sample, err error) {
	node, err := w.startNode(ctx, o.urls[:n], "--interval", w.interval.String(), "--floor", (w.interval / 2).String())
	if err != nil {
		return s, err
	}
	defer node.Close()
	if err := pause(ctx, 2*w.interval); err != nil {
		return s, err
	}
	if s, err = w.watch(ctx, kindNode, o, node.Process, node.url, answered); err != nil {
		return s, err
	}
	return s, node.Stop()
}

// prometheusTargets measures a Prometheus that scrapes each of n targets once an interval.
func (w *world) prometheusTargets(ctx context.Context, o *origin, n int) (s sample, err error) {
	config, err := w.configure(o, n)
	if err != nil {
		return s, err
	}
	address, err := child.OwnAddress(ctx)
	if err != nil {
		return s, err
	}
	p, err := w.begin("prometheus", "--config.file", config, "--web.listen-address", address, "--log.level", "warn",
		"--storage.tsdb.path", filepath.Join(w.folder, fmt.Sprintf("tsdb-%d", n)))
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	url := "http://" + address
	if err := child.AwaitURL(ctx, url+"/-/ready", p); err != nil {
		return s, err
	}
	scrapes := func(m scrape.Metrics) float64 { return m.Sum(samplesTotal) / appended }
	err = child.Await(ctx, "three scrapes of each target", 4*w.interval+time.Minute, func() (bool, error) {
		m, err := scrape.Read(ctx, url)
		return err == nil && scrapes(m) >= 3*float64(n), err
	}, p)
	if err != nil {
		return s, err
	}
	return w.watch(ctx, kindPrometheus, o, p, url, scrapes)
}

// configure writes a configuration with n targets, spread over all hosts, that differ in a
// parameter, and returns its name.
func (w *world) configure(o *origin, n int) (name string, err error) {
	hosts, err := o.addresses(w.hosts)
	if err != nil {
		return "", err
	}
	type group struct {
		Targets []string          `json:"targets"`
		Labels  map[string]string `json:"labels"`
	}
	groups := make([]group, n)
	for i := range groups {
		groups[i] = group{[]string{hosts[i%len(hosts)]}, map[string]string{"__param_n": strconv.Itoa(i), "instance": strconv.Itoa(i)}}
	}
	text, err := json.Marshal(groups)
	if err != nil {
		return "", err
	}
	targets := filepath.Join(w.folder, fmt.Sprintf("targets-%d.json", n))
	if err := os.WriteFile(targets, text, 0o600); err != nil {
		return "", err
	}
	name = filepath.Join(w.folder, fmt.Sprintf("prometheus-%d.yml", n))
	seconds := int(w.interval.Seconds())
	return name, os.WriteFile(name, fmt.Appendf(nil, `global: {scrape_interval: %ds, scrape_timeout: %ds}
scrape_configs: [{job_name: limit, metrics_path: %s, file_sd_configs: [{files: [%q]}]}]
`, seconds, seconds, scrapePath, targets), 0o600)
}
