package deltas

import "strings"

// openButton takes in the start of a button. One that sends no form leads nowhere
// without a script, as links do that are controls. A heading that opens what is
// below it says what that is, a link says where it leads, and what cannot be pressed
// says why: "Sold out".
func (p *page) openButton(attrs *attributes) {
	if p.link != "" {
		return
	}
	sends := (p.form || attrs.has(attrForm)) && !strings.EqualFold(attrs.value(attrType), "button")
	p.control = p.targets && !sends && !p.heading && !p.row && !attrs.has(attrDisabled)
	p.button, p.linkAt = p.control, p.body.length()
}

// longButton is the length in bytes from which what stands on a button is text.
const longButton = 40

// saysMore reports a button's label that says more than what it does, and is there to
// be read: "Buy now for $50".
func saysMore(label string) bool { return len(label) >= longButton || hasDigit(label) }
