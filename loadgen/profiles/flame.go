package profiles

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"html/template"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// frame is a function as it was called by those above it.
type frame struct {
	name   string
	value  float64
	called map[string]*frame
}

// call returns the frame of a function that another one calls.
func (f *frame) call(name string) *frame {
	if f.called == nil {
		f.called = make(map[string]*frame)
	}
	if f.called[name] == nil {
		f.called[name] = &frame{name: name}
	}
	return f.called[name]
}

// sorted returns what a frame calls, by name, so that two drawings can be laid beside each
// other.
func (f *frame) sorted() (all []*frame) {
	for _, called := range f.called {
		all = append(all, called)
	}
	slices.SortFunc(all, func(a, b *frame) int { return cmp.Compare(a.name, b.name) })
	return all
}

// tree returns the calls of a profile.
func tree(p *profile.Profile) *frame {
	root := &frame{name: "all"}
	for _, s := range p.Sample {
		at := root
		at.value += value(s)
		names := stack(s)
		slices.Reverse(names)
		for _, name := range names {
			at = at.call(name)
			at.value += value(s)
		}
	}
	return root
}

// The drawing: what is narrower or deeper is left out.
const (
	flameWidth  = 1200.0
	rowHeight   = 17.0
	narrowest   = 1.5
	deepest     = 48
	letterWidth = 6.2
)

// Flame draws a flame graph, its root at the top, as SVG that needs neither script nor
// network. Each frame tells its name and share when it is pointed at.
func Flame(p *profile.Profile) template.HTML {
	root, body := tree(p), new(strings.Builder)
	if root.value <= 0 {
		return ""
	}
	depth := draw(body, root, 0, 0, root.value)
	height := float64(depth+1) * rowHeight
	return template.HTML(fmt.Sprintf(`<svg class="flame" viewBox="0 0 %g %g" role="img" aria-label="flame graph">%s</svg>`, flameWidth, height, body))
}

// draw draws a frame and what it calls, and returns how deep that goes.
func draw(b *strings.Builder, f *frame, x float64, depth int, total float64) (deep int) {
	width, name := f.value/total*flameWidth, template.HTMLEscapeString(f.name)
	y := float64(depth) * rowHeight
	fmt.Fprintf(b, `<g><title>%s, %.1f %%</title><rect x="%.1f" y="%g" width="%.1f" height="%g" fill="hsl(%d 65%% 72%%)"/>`, name, 100*f.value/total, x, y, width-0.4, rowHeight-1, hue(f.name))
	if letters := int((width - 6) / letterWidth); letters >= 3 {
		fmt.Fprintf(b, `<text x="%.1f" y="%g">%s</text>`, x+3, y+rowHeight-5, template.HTMLEscapeString(clip(f.name, letters)))
	}
	b.WriteString("</g>")
	deep = depth
	for _, called := range f.sorted() {
		if called.value/total*flameWidth >= narrowest && depth < deepest {
			deep = max(deep, draw(b, called, x, depth+1, total))
		}
		x += called.value / total * flameWidth
	}
	return deep
}

// hue is the colour of a package: warm ones, the same in each drawing.
func hue(name string) int {
	of, _, _ := strings.Cut(name, ".")
	h := fnv.New32a()
	_, _ = h.Write([]byte(of)) // a hash takes all
	return int(h.Sum32() % 75)
}

// clip cuts a name to so many letters.
func clip(name string, letters int) string {
	runes := []rune(name)
	if len(runes) <= letters {
		return name
	}
	return string(runes[:letters-1]) + "…"
}
