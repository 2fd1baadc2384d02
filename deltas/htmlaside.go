package deltas

import "strings"

// hasMain reports a page that may say what of it is its main content.
func hasMain(text string) bool { return strings.Contains(text, "<main") }

// mainContent is what is known of a page's main content.
type mainContent struct {
	named bool // the page says what it is
	open  bool
	begun int // the lines before it
	said  bool
}

func (m *mainContent) begin(lines int) {
	if !m.open {
		m.open, m.begun = true, lines
	}
}

func (m *mainContent) end(lines int) {
	m.said = m.said || m.open && lines > m.begun
	m.open = false
}

// aside reports what stands on a page to use it by: navigation beside its main
// content, the way to it from the site's root, labels that come up over its buttons.
func (p *page) aside(e element, attrs *attributes) bool {
	switch {
	case e.is(navTag) && p.main.named && !p.main.open || e.is(pathTag) && attrs.saysBreadcrumbs():
		return true
	case attrs.has(attrRole) && strings.EqualFold(attrs.value(attrRole), "tooltip"):
		return true
	}
	return len(p.labels) > 0 && attrs.has(attrID) && attrs.value(attrSilent) == "true" && p.labels[attrs.value(attrID)]
}

// saysBreadcrumbs reports an element that is called the way to the page.
func (a *attributes) saysBreadcrumbs() bool {
	return saysBreadcrumb(a.value(attrLabel)) || saysBreadcrumb(a.value(attrClass))
}

func saysBreadcrumb(s string) bool { return strings.Contains(strings.ToLower(s), "breadcrumb") }

// maxLabels is how many labels of buttons are looked for on a page.
const maxLabels = 1000

// openButton takes in the start of a button. One that sends no form leads nowhere
// without a script, as links do that are controls. A heading that opens what is
// below it says what that is, a link says where it leads, and what cannot be pressed
// says why: "Sold out".
func (p *page) openButton(attrs *attributes) {
	if attrs.has(attrLabelled) {
		p.noteLabels(attrs.value(attrLabelled))
	}
	if p.link != "" {
		return
	}
	sends := (p.form || attrs.has(attrForm)) && !strings.EqualFold(attrs.value(attrType), "button")
	p.control = p.targets && !sends && !p.heading && !p.row && !attrs.has(attrDisabled)
	p.button, p.linkAt = p.control, p.body.length()
}

func (p *page) noteLabels(ids string) {
	if p.labels == nil {
		p.labels = make(map[string]bool)
	}
	for id := range strings.FieldsSeq(ids) {
		if len(p.labels) == maxLabels {
			return
		}
		p.labels[id] = true
	}
}

// longButton is the length in bytes from which what stands on a button is text.
const longButton = 40

// saysMore reports a button's label that says more than what it does, and is there to
// be read: "Buy now for $50".
func saysMore(label string) bool { return len(label) >= longButton || hasDigit(label) }
