package result

import (
	"encoding/json"
	"strings"
)

// Names returns the names of all figures that a threshold may limit, in the order of
// result.json, with a dot into objects.
func Names() (names []string) {
	for _, f := range figuresOf(new(Result)) {
		names = append(names, f.name)
	}
	return names
}

// Figure returns a figure by its name.
func (r *Result) Figure(name string) (value float64, known bool) {
	for _, f := range figuresOf(r) {
		if f.name == name {
			return f.value, true
		}
	}
	return 0, false
}

// Figures returns all figures by their names.
func (r *Result) Figures() map[string]float64 {
	all := make(map[string]float64)
	for _, f := range figuresOf(r) {
		all[f.name] = f.value
	}
	return all
}

// figure is a number of the result.
type figure struct {
	name  string
	value float64
}

// parameters are numbers of the result that were given, not measured.
var parameters = map[string]bool{"seed": true, "duration_s": true}

// figuresOf reads the numbers of the result from its JSON, which is where their names
// stand.
func figuresOf(r *Result) []figure {
	content, err := json.Marshal(r)
	if err != nil {
		panic("a result is JSON: " + err.Error())
	}
	decoder := json.NewDecoder(strings.NewReader(string(content)))
	return walk(decoder, "")
}

// walk reads one value, and returns the numbers in it in their order; lists are left out.
func walk(decoder *json.Decoder, name string) (figures []figure) {
	token, err := decoder.Token()
	if err != nil {
		return nil
	}
	switch token := token.(type) {
	case json.Delim:
		for decoder.More() {
			if token == '[' {
				walk(decoder, "")
				continue
			}
			key, _ := decoder.Token()
			inside, _ := key.(string)
			if name != "" {
				inside = name + "." + inside
			}
			figures = append(figures, walk(decoder, inside)...)
		}
		_, _ = decoder.Token() // its end
	case float64:
		if name != "" && !parameters[name] {
			figures = append(figures, figure{name, token})
		}
	}
	return figures
}
