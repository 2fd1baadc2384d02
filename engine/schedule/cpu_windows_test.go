package schedule

import "time"

// Processor time is not measured on Windows.
func threadTime() time.Duration { return 0 }

func processTime() time.Duration { return 0 }
