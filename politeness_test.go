package corona_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// tableRow is a row of docs/politeness.md: what is to hold, what we do, the tests
// that show it, and their result.
type tableRow struct {
	line                       int
	behaviour, answer, outcome string
	tests                      []string // folder.TestName, or folder.TestName/part
}

// testName finds the tests in a cell: the root package is called corona.
var testName = regexp.MustCompile("`([a-z/]+)\\.(Test\\w+|Fuzz\\w+)(/[^`]+)?`")

// Every row of docs/politeness.md names tests that exist and a result, and none of
// the behaviours that the page is about is missing.
func TestPolitenessTable(t *testing.T) {
	rows := readTable(t, filepath.Join("docs", "politeness.md"))
	var text strings.Builder
	sources := make(map[string]*source)
	for _, row := range rows {
		fmt.Fprintln(&text, row.behaviour)
		if len(row.tests) == 0 || row.answer == "" || row.outcome == "" {
			t.Errorf("line %d: %q has no test, no answer or no result", row.line, row.behaviour)
		}
		for _, name := range row.tests {
			if err := findTest(t, sources, name); err != nil {
				t.Errorf("line %d: %v", row.line, err)
			}
		}
	}
	for _, want := range tableOf() {
		if !regexp.MustCompile(`(?m)^.*\b` + want + `\b`).MatchString(text.String()) {
			t.Errorf("no row of the table is about %s", want)
		}
	}
}

// tableOf lists what the table must be about: the rows of bad input that origins
// and API clients cause, and the public checklist of how feed readers behave.
func tableOf() (all []string) {
	for row := 1; row <= 43; row++ {
		if row <= 22 || row >= 36 {
			all = append(all, fmt.Sprintf("row %d", row))
		}
	}
	for _, code := range []int{1, 2, 3, 4, 10, 11, 12, 13, 14, 20, 21, 22, 23, 24, 30, 40, 50, 51, 60, 61, 70, 80, 90} {
		all = append(all, fmt.Sprintf("FRB%03d", code))
	}
	return all
}

func readTable(t *testing.T, name string) (rows []tableRow) {
	t.Helper()
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(page), "\n") {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if !strings.HasPrefix(line, "|") || len(cells) != 4 || strings.Contains(line, "---") || strings.HasPrefix(line, "| behaviour") {
			continue
		}
		row := tableRow{line: i + 1, behaviour: strings.TrimSpace(cells[0]), answer: strings.TrimSpace(cells[1]), outcome: strings.TrimSpace(cells[3])}
		for _, name := range testName.FindAllString(cells[2], -1) {
			row.tests = append(row.tests, strings.Trim(name, "`"))
		}
		rows = append(rows, row)
	}
	return rows
}

// source is what the tests of a folder are called.
type source struct {
	functions map[string]bool
	texts     []string // string literals, where parts of tests get their names
}

// findTest says why a test is not in the tree, nil if it is. A part is one by its
// name, which a string of the folder's tests begins with.
func findTest(t *testing.T, sources map[string]*source, name string) error {
	t.Helper()
	folder, rest, _ := strings.Cut(name, ".")
	function, part, hasPart := strings.Cut(rest, "/")
	if sources[folder] == nil {
		sources[folder] = readTests(t, folder)
	}
	if !sources[folder].functions[function] {
		return fmt.Errorf("there is no %s in %s", function, folder)
	}
	named := func(text string) bool { return text == part || strings.HasPrefix(text, part+" ") }
	if hasPart && !slices.ContainsFunc(sources[folder].texts, named) {
		return fmt.Errorf("no test of %s is called %q", folder, part)
	}
	return nil
}

func readTests(t *testing.T, folder string) *source {
	t.Helper()
	if folder == "corona" {
		folder = "."
	}
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	s := &source{functions: make(map[string]bool)}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, s.add)
	}
	return s
}

func (s *source) add(node ast.Node) bool {
	switch node := node.(type) {
	case *ast.FuncDecl:
		if node.Recv == nil {
			s.functions[node.Name.Name] = true
		}
	case *ast.BasicLit:
		if text, err := strconv.Unquote(node.Value); err == nil && node.Kind == token.STRING {
			s.texts = append(s.texts, text)
		}
	}
	return true
}

// The check of the table can fail.
func TestPolitenessTableFinds(t *testing.T) {
	for name, want := range map[string]bool{
		"corona.TestPolitenessTable":           true,
		"corona.TestPoliteness/FRB001":         true,
		"corona.TestPoliteness/FRB999":         false,
		"corona.TestPolitenessOfNobody":        false,
		"nowhere.TestPolitenessTable":          false,
		"internal/originaudit.TestJudge/HEAD":  true,
		"internal/originaudit.TestJudge/HEADS": false,
	} {
		if err := findTest(t, make(map[string]*source), name); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
