//go:build race

package cost

// RaceDetector says whether the test runs under it, which makes all slower.
const RaceDetector = true
