package jsondoc

import (
	"cmp"
	"slices"
	"strings"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/extract/links"
	"github.com/seed-91e7e7c1/corona/deltas/scan"
)

// column is a string that all items of a list have: a member, or one of a member.
type column struct {
	outer, name string // outer is empty for a member of the item itself
	rank        int
	values      []string // of each item
}

// The ranks of columns, by how likely it is that what they say of an item never changes.
const (
	rankURL    = iota
	rankTitle  // a name that titles have
	rankText   // any other
	rankNumber // all begin with a digit: dates, measures
	rankLong   // descriptions, pictures: the last of all, even behind members of members
)

// chosenList returns an array as a list whose items are known by the URL-like member
// that differs from item to item, else by another such member, else by the first
// members that do together; nil if there are none.
func chosenList(v *Value, path string) *list {
	items := itemsOf(v)
	columns := columnsOf(items)
	short := slices.IndexFunc(columns, func(c column) bool { return c.rank == rankLong })
	if short < 0 {
		short = len(columns)
	}
	key := alone(columns[:short])
	if key == nil {
		key = together(columns[:short])
	}
	if key == nil {
		key = alone(columns[short:])
	}
	switch {
	case key == nil:
		return nil
	case key[0].rank == rankURL && len(key) == 1:
		return newList(items, key, "")
	}
	return newList(items, key, content.ContentID+path+"[")
}

// alone returns the first column that identifies items.
func alone(columns []column) []column {
	for i := range columns {
		if values := columns[i].values; nearlyAll(distinct(values), len(values)) {
			return columns[i : i+1]
		}
	}
	return nil
}

// together returns the first columns that identify items together, without those that
// tell no two items apart.
func together(columns []column) (key []column) {
	var values []string
	most := 1
	for _, c := range columns {
		joined := slices.Clone(c.values)
		for i := range values {
			joined[i] = values[i] + "\x00" + joined[i]
		}
		n := distinct(joined)
		if n <= most {
			continue
		}
		key, values, most = append(key, c), joined, n
		if nearlyAll(n, len(values)) {
			return key
		}
	}
	return nil
}

func distinct(values []string) int {
	seen := make(map[string]bool, len(values))
	for _, value := range values {
		seen[value] = true
	}
	return len(seen)
}

// maxColumns is how many columns are looked at, and maxTries how many members of the
// first item are tried for it: each try looks through all members of the list.
const (
	maxColumns = 32
	maxTries   = 16 * maxColumns
)

// columnsOf returns the columns of a list, the likeliest key first. They do not depend
// on the order of the items: what all have, the first has.
func columnsOf(items []Value) []column {
	if len(items) == 0 {
		return nil
	}
	var columns []column
	tries := 0
	add := func(outer string, members []Value) {
		for i := range members {
			if len(columns) == maxColumns || tries == maxTries || members[i].Kind != '"' || members[i].isStamp() {
				continue
			}
			tries++
			if c := (column{outer: outer, name: members[i].Name}); c.fill(items) {
				columns = append(columns, c)
			}
		}
	}
	add("", items[0].Children)
	for _, m := range items[0].Children {
		if m.Kind == '{' {
			add(m.Name, m.Children)
		}
	}
	slices.SortFunc(columns, func(a, b column) int {
		return cmp.Or(cmp.Compare(a.rank/rankLong, b.rank/rankLong), cmp.Compare(min(len(a.outer), 1), min(len(b.outer), 1)),
			cmp.Compare(a.rank, b.rank), cmp.Compare(a.path(), b.path()))
	})
	return columns
}

// fill reads the column's values and ranks it; false if an item has none.
func (c *column) fill(items []Value) bool {
	isURL, isAddressOfAsset, isNumber := true, false, true
	c.values = make([]string, len(items))
	for i := range items {
		m := c.in(&items[i])
		value := scalarOf(m)
		if m.Kind != '"' || value == "" {
			return false
		}
		address, _, _ := strings.Cut(value, "?")
		isURL = isURL && links.IsHTTP(value)
		isAddressOfAsset = isAddressOfAsset || links.IsAsset(address)
		isNumber = isNumber && scan.IsDigit(value[0])
		c.values[i] = value
	}
	name := strings.ToLower(c.name)
	switch {
	case isURL && !isAddressOfAsset:
		c.rank = rankURL
	case isURL || slices.Contains(content.SummaryNames[:], name):
		c.rank = rankLong
	case slices.Contains(content.TitleNames[:], name):
		c.rank = rankTitle
	case isNumber:
		c.rank = rankNumber
	default:
		c.rank = rankText
	}
	return true
}

func (c *column) path() string {
	if c.outer == "" {
		return c.name
	}
	return c.outer + "." + c.name
}

// in returns what an item has in the column.
func (c *column) in(item *Value) *Value {
	if c.outer != "" {
		item = item.find(c.outer)
	}
	return item.find(c.name)
}

// find is [Value.Member] for objects whose members may be in another order: rows of a table.
func (v *Value) find(name string) *Value {
	for i := range v.Children {
		if v.Kind == '{' && v.Children[i].Name == name {
			return &v.Children[i]
		}
	}
	return &Value{}
}
