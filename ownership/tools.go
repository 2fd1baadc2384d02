package ownership

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/hashicorp/go-hclog"
	"github.com/seed-91e7e7c1/corona/internal/volume"
)

// tools is what all parts of a store share.
type tools struct {
	log     *slog.Logger
	metrics *metrics
	fail    func(error) // fail-stop: tells Config.Fatal, once
}

func newTools(cfg Config, metrics *metrics) tools {
	var once sync.Once
	fatal := cfg.Fatal
	if fatal == nil {
		fatal = func(err error) { panic(err) }
	}
	fail := func(err error) { once.Do(func() { fatal(err) }) }
	return tools{log: cfg.Logger, metrics: metrics, fail: fail}
}

// pebbleLog passes pebble's messages on.
type pebbleLog struct {
	log  *slog.Logger
	fail func(error)
}

func (t tools) pebbleLogger(store string) pebble.Logger {
	return pebbleLog{log: t.log.With("store", store), fail: t.fail}
}

func (l pebbleLog) Infof(format string, args ...any) {
	if l.log.Enabled(context.Background(), slog.LevelDebug) {
		l.log.Debug("pebble", "message", fmt.Sprintf(format, args...))
	}
}

func (l pebbleLog) Errorf(format string, args ...any) {
	if volume.SaidAlready(args) {
		return
	}
	l.log.Warn("pebble", "message", fmt.Sprintf(format, args...))
}

// Fatalf must not return: pebble goes on as if it had never happened.
func (l pebbleLog) Fatalf(format string, args ...any) {
	err := fmt.Errorf("pebble: "+format, args...)
	l.fail(err)
	panic(err)
}

// raftLog passes raft's messages on: its errors as warnings, since callers get the
// errors that matter, and its warnings for debugging, since the start of a lone voter
// causes several.
type raftLog struct{ log *slog.Logger }

func (t tools) raftLogger(group uint32) hclog.Logger {
	logger := hclog.NewInterceptLogger(&hclog.LoggerOptions{Output: io.Discard, Level: hclog.Off})
	logger.RegisterSink(raftLog{t.log.With("range", group)})
	return logger
}

// ofSilentNodes are raft's messages, one for each range, about a node that does not
// answer, which package peer logs once.
var ofSilentNodes = []string{"failed to appendEntries to", "failed to heartbeat to", "failed to make requestVote RPC"}

// Accept implements hclog.SinkAdapter.
func (l raftLog) Accept(_ string, level hclog.Level, msg string, args ...any) {
	to := slog.LevelDebug
	if level >= hclog.Error && !slices.Contains(ofSilentNodes, msg) {
		to = slog.LevelWarn
	}
	if !l.log.Enabled(context.Background(), to) {
		return
	}
	for i, arg := range args {
		if lazy, ok := arg.(hclog.Format); ok && len(lazy) > 0 {
			args[i] = fmt.Sprintf(fmt.Sprint(lazy[0]), lazy[1:]...)
		}
	}
	l.log.Log(context.Background(), to, "raft", append([]any{"message", msg}, args...)...)
}

// every calls f each time that an interval has passed, until ctx ends.
func every(ctx context.Context, interval time.Duration, f func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			f()
		case <-ctx.Done():
			return
		}
	}
}
