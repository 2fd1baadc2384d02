package wire

import "time"

// Micros is a time as it is stored; 0 stands for the zero time, and times before
// 1970 do not occur.
func Micros(t time.Time) uint64 {
	if t.IsZero() || t.UnixMicro() < 0 {
		return 0
	}
	return uint64(t.UnixMicro())
}

// Time is the time that Micros has stored.
func Time(us uint64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(us)).UTC()
}
