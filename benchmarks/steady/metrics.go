package main

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// metrics are the samples of a scrape, by name with labels.
type metrics map[string]float64

// scrape reads a node's metrics. Histograms become their cumulative buckets.
func scrape(ctx context.Context, node string) (metrics, error) {
	response, err := get(ctx, node+"/metrics")
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s/metrics: %s", node, response.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		return nil, fmt.Errorf("%s/metrics: %w", node, err)
	}
	m := make(metrics)
	for name, family := range families {
		for _, metric := range family.GetMetric() {
			m.add(name, metric)
		}
	}
	return m, nil
}

func (m metrics) add(name string, metric *dto.Metric) {
	labels := ""
	for _, pair := range metric.GetLabel() {
		labels += fmt.Sprintf("{%s=%q}", pair.GetName(), pair.GetValue())
	}
	m[name+labels] += metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + metric.GetUntyped().GetValue()
	for _, bucket := range metric.GetHistogram().GetBucket() {
		m[name+"_bucket "+strconv.FormatFloat(bucket.GetUpperBound(), 'g', -1, 64)] += float64(bucket.GetCumulativeCount())
	}
}

// since returns how much every sample has grown.
func (m metrics) since(before metrics) metrics {
	grown := make(metrics, len(m))
	for name, value := range m {
		grown[name] = value - before[name]
	}
	return grown
}

// sum adds the samples of a name that have all the labels.
func (m metrics) sum(name string, labels ...string) float64 {
	total := 0.0
	for sample, value := range m {
		base, rest, _ := strings.Cut(sample, "{")
		if base == name && !slices.ContainsFunc(labels, func(label string) bool { return !strings.Contains(rest, label) }) {
			total += value
		}
	}
	return total
}

// quantile returns the upper bound of the histogram's bucket that holds it.
func (m metrics) quantile(name string, q float64) float64 {
	bounds := make(map[float64]float64)
	total := 0.0
	for sample, value := range m {
		if text, ok := strings.CutPrefix(sample, name+"_bucket "); ok {
			if bound, err := strconv.ParseFloat(text, 64); err == nil {
				bounds[bound] = value
				total = max(total, value)
			}
		}
	}
	least := math.Inf(1)
	for bound, value := range bounds {
		if value >= q*total {
			least = min(least, bound)
		}
	}
	return least
}

// cpuTime returns how much processor time a process has used.
func cpuTime(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	const utime, stime = 11, 12 // proc(5), counted behind the name
	if len(fields) <= stime {
		return 0, fmt.Errorf("/proc/%d/stat: %d fields", pid, len(fields))
	}
	user, err := strconv.ParseInt(fields[utime], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(fields[stime], 10, 64)
	const tick = time.Second / 100 // USER_HZ on Linux
	return time.Duration(user+system) * tick, err
}

// diskUsage returns the bytes of a folder's files.
func diskUsage(folder string) (total int64, err error) {
	err = filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, err
}
