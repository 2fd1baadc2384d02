package content

// Entry is one item of a feed as subscribers see it. Published and Updated are
// RFC 3339 or empty. Of JSON lists Categories and Geometry are empty: they are
// members like any other.
type Entry struct {
	ID         string   `json:"id"`
	Title      string   `json:"title"`
	Link       string   `json:"link"`
	Published  string   `json:"published"`
	Updated    string   `json:"updated"`
	Summary    string   `json:"summary"`
	Categories []string `json:"categories,omitempty"` // sorted, each once
	Geometry   string   `json:"geometry,omitempty"`   // "lat 45.2; long -71.9", "point 45.2 -71.9"
	Fields     []string `json:"fields,omitempty"`     // in Entries.Changed: the JSON names of what changed
}

// Entries is what an update did to a feed's entries. No list is nil.
type Entries struct {
	Added   []Entry `json:"added"`
	Changed []Entry `json:"changed"`
	Removed []Entry `json:"removed"` // withdrawn, not merely out of the window at its old end
}
