//go:build !race

package deltas

const raceDetector = false
