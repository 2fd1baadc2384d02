package loadgen_test

import (
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/loadgen"
)

// The origin of README.md's "Try it without a network" has a new entry in a feed
// soon enough to be the first thing that a reader sees, within ten seconds at an
// interval of five, and no long page of HTML pushes it out of view.
func TestReadmeOriginChangesSoon(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`loadgen origin --channels (\d+) --speedup (\d+) &`).FindSubmatch(readme)
	if command == nil {
		t.Fatal("README.md has no such origin")
	}
	channels, _ := strconv.Atoi(string(command[1]))
	speedup, _ := strconv.Atoi(string(command[2]))
	content := loadgen.Content{Schedule: loadgen.Schedule{Seed: 1}}
	changes := func(channel int, from, to time.Duration) bool {
		return content.Revision(channel, from*time.Duration(speedup)) < content.Revision(channel, to*time.Duration(speedup))
	}
	soon := false
	for channel := range channels {
		if content.Format(channel) != loadgen.HTML {
			soon = soon || changes(channel, time.Second, 4*time.Second)
		} else if changes(channel, 0, 30*time.Second) {
			t.Errorf("channel %d is HTML and changes in half a minute", channel)
		}
	}
	if !soon {
		t.Error("no feed changes between a second and four after the start")
	}
}
