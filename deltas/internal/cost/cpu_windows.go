package cost

import (
	"time"
)

// CPUTime returns 0: processor time is not measured on Windows.
func CPUTime(f func()) time.Duration { f(); return 0 }
