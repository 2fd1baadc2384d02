package run

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/loadgen/profiles"
)

// Profile is one that a node was asked for.
type Profile struct {
	Node, Kind string
	File       string // in the result's folder
	Err        error  // why there is none
}

// Profiles of a time leave out the window's first second, and last at most a minute: a
// processor's profile has a hundred samples a second.
const (
	profileAfter = time.Second
	profileMost  = time.Minute
)

// takeProfiles asks all nodes for what the scenario wants, beside the window. What it returns
// waits for their answers.
func (r *run) takeProfiles(ctx context.Context) (taken func()) {
	var asking sync.WaitGroup
	long := max(min(r.Scenario.Duration-2*profileAfter, profileMost), time.Second)
	for name, url := range r.cluster.urls {
		for _, kind := range r.Scenario.Profiles {
			p, at := &Profile{Node: name, Kind: kind, File: profiles.File(name, kind)}, time.Now().Add(profileAfter)
			r.profiled = append(r.profiled, p)
			if !profiles.Lasts(kind) {
				at = at.Add(long) // when those of a time are there, which it would be part of
			}
			asking.Go(func() {
				if p.Err = pause(ctx, at); p.Err == nil {
					p.Err = r.takeProfile(ctx, url, p, int(long/time.Second))
				}
			})
		}
	}
	return asking.Wait
}

func (r *run) takeProfile(ctx context.Context, url string, p *Profile, seconds int) error {
	content, err := profiles.Fetch(ctx, url, "", p.Kind, seconds)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.Out, p.File), content, 0o644)
}
