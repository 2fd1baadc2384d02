package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// memory says where the node's memory is, after a collection.
func (s *scenario) memory(ctx context.Context) (m memory, err error) {
	heap, err := s.profile(ctx, "heap?gc=1", "heap.pb.gz")
	if err != nil {
		return m, err
	}
	m.HeapByPackage, err = byPackage(heap)
	if err != nil {
		return m, err
	}
	r, err := s.read(ctx)
	if err != nil {
		return m, err
	}
	m.RSSBytes = r.resident
	m.BytesPerChannel = float64(m.RSSBytes) / float64(s.channels)
	for _, bytes := range m.HeapByPackage {
		m.HeapLive += bytes
	}
	m.GoStacks = r.node.Sum("go_memstats_stack_inuse_bytes")
	taken := r.node.Sum("go_memstats_sys_bytes") - r.node.Sum("go_memstats_heap_released_bytes")
	m.GoOther = taken - m.GoStacks - (r.node.Sum("go_memstats_heap_sys_bytes") - r.node.Sum("go_memstats_heap_released_bytes"))
	m.GoFree = taken - m.GoStacks - m.GoOther - float64(m.HeapLive)
	m.Outside = float64(m.RSSBytes) - taken
	return m, nil
}

// byPackage adds up the live bytes of a heap profile by the first package of the
// module, or else of others, that stands in a sample's stack.
func byPackage(p *profile.Profile) (map[string]int64, error) {
	index := -1
	for i, kind := range p.SampleType {
		if kind.Type == "inuse_space" {
			index = i
		}
	}
	if index < 0 {
		return nil, fmt.Errorf("profile has no inuse_space")
	}
	bytes := make(map[string]int64)
	for _, sample := range p.Sample {
		if live := sample.Value[index]; live > 0 {
			bytes[holder(sample)] += live
		}
	}
	return bytes, nil
}

const modulePath = "github.com/seed-91e7e7c1/corona"

// holder returns the package that has a sample's memory: of the module, the one
// nearest to the allocation; where no function is the module's, the nearest.
func holder(sample *profile.Sample) string {
	nearest := ""
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

// profileCPU takes a profile of the processor, if it is asked for.
func (s *scenario) profileCPU(ctx context.Context) error {
	if s.profiles == "" {
		return nil
	}
	_, err := s.profile(ctx, "profile?seconds=30", "cpu.pb.gz")
	return err
}

// profile asks the node for one, and keeps it if that is wanted.
func (s *scenario) profile(ctx context.Context, what, name string) (*profile.Profile, error) {
	response, err := get(ctx, s.nodeURL+"/debug/pprof/"+what)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("profile %s: %s", what, response.Status)
	}
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("profile %s: %w", what, err)
	}
	if s.profiles != "" {
		if err := os.WriteFile(filepath.Join(s.profiles, name), content, 0o644); err != nil {
			return nil, err
		}
	}
	return profile.ParseData(content)
}

// disk adds up a data directory.
func (s *scenario) disk() (d disk, err error) {
	d.ByFolder = make(map[string]int64)
	err = filepath.WalkDir(s.data, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return ignoreMissing(err)
		}
		info, err := entry.Info()
		if err != nil {
			return ignoreMissing(err)
		}
		inside, err := filepath.Rel(s.data, path)
		if err != nil {
			return err
		}
		parts := strings.Split(filepath.ToSlash(inside), "/")
		d.ByFolder[strings.Join(parts[:min(2, len(parts)-1)], "/")] += info.Size()
		d.Bytes += info.Size()
		return nil
	})
	d.BytesPerChannel = float64(d.Bytes) / float64(s.channels)
	return d, err
}

// ignoreMissing overlooks what the node removed meanwhile.
func ignoreMissing(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
