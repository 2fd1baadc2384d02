package profiles

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"
)

// Row is a function, or a part of a node, of a profile.
type Row struct {
	Name      string
	Flat, Cum float64 // shares of the total: of the function alone, and with what it calls
}

// PartLabel is the label with which nodes tell which part a sample belongs to.
const PartLabel = "part"

// value returns what a sample counts: the last of its values, which is time of a processor or
// of waiting, bytes in use, or goroutines.
func value(s *profile.Sample) float64 { return float64(s.Value[len(s.Value)-1]) }

// Total returns the sum of a profile.
func Total(p *profile.Profile) (sum float64) {
	for _, s := range p.Sample {
		sum += value(s)
	}
	return sum
}

// Unit returns what the sum counts, such as nanoseconds.
func Unit(p *profile.Profile) string {
	if n := len(p.SampleType); n > 0 {
		return p.SampleType[n-1].Unit
	}
	return ""
}

// Top returns the functions with the largest shares of their own.
func Top(p *profile.Profile, most int) []Row {
	total, rows := Total(p), make(map[string]*Row)
	for _, s := range p.Sample {
		seen := make(map[string]bool)
		for depth, name := range stack(s) {
			row := rows[name]
			if row == nil {
				row = &Row{Name: name}
				rows[name] = row
			}
			if depth == 0 {
				row.Flat += value(s) / total
			}
			if !seen[name] {
				row.Cum += value(s) / total
			}
			seen[name] = true
		}
	}
	return largest(rows, most)
}

// Parts returns the shares of a node's parts; what belongs to none is "other".
func Parts(p *profile.Profile) []Row {
	total, rows := Total(p), make(map[string]*Row)
	for _, s := range p.Sample {
		name := "other"
		if labels := s.Label[PartLabel]; len(labels) > 0 {
			name = labels[0]
		}
		if rows[name] == nil {
			rows[name] = &Row{Name: name}
		}
		rows[name].Flat += value(s) / total
		rows[name].Cum = rows[name].Flat
	}
	if len(rows) == 1 && rows["other"] != nil {
		return nil // the kind bears no labels
	}
	return largest(rows, len(rows))
}

func largest(rows map[string]*Row, most int) []Row {
	all := make([]Row, 0, len(rows))
	for _, row := range rows {
		all = append(all, *row)
	}
	slices.SortFunc(all, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Flat, a.Flat), cmp.Compare(b.Cum, a.Cum), cmp.Compare(a.Name, b.Name))
	})
	return all[:min(most, len(all))]
}

// stack returns the functions of a sample, the innermost first.
func stack(s *profile.Sample) (names []string) {
	for _, location := range s.Location {
		if len(location.Line) == 0 {
			names = append(names, "0x"+strconv.FormatUint(location.Address, 16))
		}
		for _, line := range location.Line {
			if line.Function != nil {
				names = append(names, short(line.Function.Name))
			}
		}
	}
	return names
}

// short leaves out where a package comes from.
func short(name string) string {
	head, arguments, generic := strings.Cut(name, "[")
	head = head[strings.LastIndexByte(head, '/')+1:]
	if generic {
		return head + "[" + arguments
	}
	return head
}
