package engine

import (
	"time"
)

func processTime() time.Duration { return 0 }
