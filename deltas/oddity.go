package deltas

import "strings"

// oddities are what few contents have, and the judge looks for in each.
type oddities int32

const (
	oddStamp    oddities = 1 << iota // a build stamp
	oddControl                       // a line of controls
	oddnessSeen                      // somebody has looked
)

func odditiesOf(text string) (o oddities) {
	if hasStamps(text) {
		o |= oddStamp
	}
	if strings.Contains(text, controlMark) {
		o |= oddControl
	}
	return o
}

// has reports whether the content has one of some oddities.
func (c *Core) has(some oddities) bool {
	o := oddities(c.oddities.Load())
	if o == 0 {
		o = odditiesOf(c.content) | oddnessSeen
		c.oddities.Store(int32(o))
	}
	return o&some != 0
}

// lookBeside looks for oddities where base, if it has none, does not say the same.
func (c *Core) lookBeside(base *Core) {
	if base == nil || len(c.sections) == 0 || base.has(oddStamp|oddControl) {
		return
	}
	o, head := oddnessSeen, len(c.content)
	for i, section := range c.sections {
		if base.entryOf(c.ids[i], section) == nil {
			o |= odditiesOf(section)
		}
		head -= len(section)
	}
	c.oddities.Store(int32(o | odditiesOf(c.content[:head])))
}
