package deltas

import "strings"

// hasMain reports a page that says what of it is its main content.
func hasMain(text string) bool { return strings.Contains(text, "<main") }

// aside reports what stands on a page to use it by: navigation beside its main
// content, the way to it from the site's root, labels that come up over its buttons.
func (p *page) aside(e element, attrs *attributes) bool {
	switch {
	case e.is(navTag) && p.main && !p.inMain || e.is(pathTag) && attrs.saysBreadcrumbs():
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
// below it says what that is.
func (p *page) openButton(attrs *attributes) {
	sends := (p.form || attrs.has(attrForm)) && !strings.EqualFold(attrs.value(attrType), "button")
	p.control = p.targets && !sends && !p.heading && !p.row
	p.link, p.linkAt = "", p.body.length()
	if attrs.has(attrLabelled) && len(p.labels) < maxLabels {
		if p.labels == nil {
			p.labels = make(map[string]bool)
		}
		for id := range strings.FieldsSeq(attrs.value(attrLabelled)) {
			p.labels[id] = true
		}
	}
}
