package deltas

import "strings"

// A link's target stands between these behind its text. A line that ends in
// controlMark is nothing but controls: what scripts show and hide, such as
// "Turn off animations".
const (
	targetOpen  = "⟨"
	targetClose = "⟩"
	controlled  = "#"
	controlMark = targetOpen + controlled + targetClose
)

// withoutTargets removes the link targets from a line.
func withoutTargets(line string) string {
	for {
		open := strings.Index(line, " "+targetOpen)
		if open < 0 {
			return line
		}
		length := strings.Index(line[open:], targetClose)
		if length < 0 {
			return line
		}
		line = line[:open] + line[open+length+len(targetClose):]
	}
}
