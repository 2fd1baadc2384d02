package ownership

import (
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// TestSlowDiskAtStart: a node starts though writes of its log take longer, for a while,
// than raft's main loop is waited for.
func TestSlowDiskAtStart(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	var fast time.Time // writes are slow before
	cfg.files = errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
			if strings.Contains(op.Path, "/log/") && time.Now().Before(fast) {
				time.Sleep(barrierWithin * 5 / 4)
			}
		}
		return nil
	}))
	s := open(t, cfg)
	shut(t, s)
	fast = time.Now().Add(10 * barrierWithin)
	open(t, cfg)
}
