//go:build !race

package cost

const RaceDetector = false
