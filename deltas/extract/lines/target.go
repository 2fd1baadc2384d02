package lines

import "strings"

// A link's target stands between these behind its text. A line that ends in
// ControlMark is nothing but controls: what scripts show and hide, such as
// "Turn off animations".
const (
	TargetOpen  = "⟨"
	TargetClose = "⟩"
	Controlled  = "#"
	ControlMark = TargetOpen + Controlled + TargetClose
)

// withoutTargets removes the link targets from a line.
func withoutTargets(line string) string {
	for {
		open := strings.Index(line, " "+TargetOpen)
		if open < 0 {
			return line
		}
		length := strings.Index(line[open:], TargetClose)
		if length < 0 {
			return line
		}
		line = line[:open] + line[open+length+len(TargetClose):]
	}
}
