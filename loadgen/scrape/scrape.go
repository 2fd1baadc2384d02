// Package scrape reads what a node and its process tell of themselves.
package scrape

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Metrics are the samples of a scrape, by name with labels.
type Metrics map[string]float64

// readWithin bounds a scrape of a node that takes the connection and does not answer.
const readWithin = 30 * time.Second

// Read reads a node's metrics. Histograms become their cumulative buckets.
func Read(ctx context.Context, node string) (Metrics, error) {
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, node+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
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
	m := make(Metrics)
	for name, family := range families {
		for _, metric := range family.GetMetric() {
			m.add(name, metric)
		}
	}
	return m, nil
}

func (m Metrics) add(name string, metric *dto.Metric) {
	labels := ""
	for _, pair := range metric.GetLabel() {
		labels += fmt.Sprintf("{%s=%q}", pair.GetName(), pair.GetValue())
	}
	m[name+labels] += metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + metric.GetUntyped().GetValue()
	for _, bucket := range metric.GetHistogram().GetBucket() {
		m[name+"_bucket "+strconv.FormatFloat(bucket.GetUpperBound(), 'g', -1, 64)] += float64(bucket.GetCumulativeCount())
	}
}

// Since returns how much every sample has grown.
func (m Metrics) Since(before Metrics) Metrics {
	grown := make(Metrics, len(m))
	for name, value := range m {
		grown[name] = value - before[name]
	}
	return grown
}

// Sum adds the samples of a name that have all the labels.
func (m Metrics) Sum(name string, labels ...string) float64 {
	total := 0.0
	for sample, value := range m {
		base, rest, _ := strings.Cut(sample, "{")
		if base == name && !slices.ContainsFunc(labels, func(label string) bool { return !strings.Contains(rest, label) }) {
			total += value
		}
	}
	return total
}

// Quantile returns the upper bound of the histogram's bucket that holds it.
func (m Metrics) Quantile(name string, q float64) float64 {
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
