package profiles

import (
	"errors"
	"strings"

	"github.com/google/pprof/profile"
)

// modulePath is the path of this module, whose packages are named without it.
const modulePath = "github.com/seed-91e7e7c1/corona"

// ErrNoHeap is a profile that is none of a heap.
var ErrNoHeap = errors.New("profile has no inuse_space")

// LiveByPackage adds up the live bytes of a heap's profile by the package of this module that
// is nearest to the allocation; by the nearest one at all where no function is the module's.
func LiveByPackage(p *profile.Profile) (map[string]int64, error) {
	index := -1
	for i, kind := range p.SampleType {
		if kind.Type == "inuse_space" {
			index = i
		}
	}
	if index < 0 {
		return nil, ErrNoHeap
	}
	bytes := make(map[string]int64)
	for _, sample := range p.Sample {
		if live := sample.Value[index]; live > 0 {
			bytes[holder(sample)] += live
		}
	}
	return bytes, nil
}

func holder(sample *profile.Sample) (nearest string) {
	for _, location := range sample.Location {
		for _, line := range location.Line {
			name := packageOf(line.Function.Name)
			if own, ok := strings.CutPrefix(name, modulePath); ok {
				return "corona" + own
			}
			if nearest == "" {
				nearest = name
			}
		}
	}
	return nearest
}

// packageOf returns the import path in a function's name.
func packageOf(function string) string {
	slash := strings.LastIndexByte(function, '/') + 1
	dot := strings.IndexByte(function[slash:], '.')
	if dot < 0 {
		return function
	}
	return function[:slash+dot]
}
