package ownership

import "time"

// How long an update is kept. The latest keepVersions of a channel always are.
// Others are kept for keepForCursors whatever happens, so that a stream that was
// cut for a night resumes; then until every subscription is known to have them,
// but not beyond keepAtMost. When the bytes kept exceed Config.RetainBytes, the
// oldest go earlier.
const (
	keepVersions   = 16
	keepForCursors = 24 * time.Hour
	keepAtMost     = 76 * time.Hour
)

// lastTrimmable returns the newest version that is not among the latest kept, 0
// if all are.
func lastTrimmable(version uint64) uint64 { return max(version, keepVersions) - keepVersions }

// mayTrim says whether an update may go, given its age and whether every
// subscription has it.
func mayTrim(age time.Duration, delivered bool) bool {
	return age >= keepAtMost || delivered && age >= keepForCursors
}

// age is the time between two log times, never negative.
func age(now, stamp uint64) time.Duration {
	if now <= stamp {
		return 0
	}
	return time.Duration(min(now-stamp, uint64(1<<63-1)/1000)) * time.Microsecond
}
