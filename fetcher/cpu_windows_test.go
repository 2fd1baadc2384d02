package fetcher

import (
	"testing"
	"time"
)

// Processor time is not measured on Windows.
func processorTime(*testing.B) time.Duration { return 0 }
