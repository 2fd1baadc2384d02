package scenario

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/seed-91e7e7c1/corona/loadgen"
)

//go:embed builtin/*.yaml
var builtin embed.FS

// Builtin returns the names of the scenarios that are built in, sorted.
func Builtin() (names []string) {
	files, _ := builtin.ReadDir("builtin") // it is there
	for _, file := range files {
		names = append(names, strings.TrimSuffix(file.Name(), ".yaml"))
	}
	slices.Sort(names)
	return names
}

// Text returns the YAML of a scenario that is built in.
func Text(name string) ([]byte, bool) {
	content, err := builtin.ReadFile(path.Join("builtin", name+".yaml"))
	return content, err == nil
}

// maxFile bounds a scenario's file, in bytes.
const maxFile = 1 << 20

// Read reads a scenario: one that is built in by its name, or else a file. set holds
// key=value pairs that replace what stands there, such as origins.hosts=10.
func Read(name string, set []string) (*Scenario, error) {
	content, known := Text(name)
	if !known {
		var err error
		if content, err = readFile(name); err != nil {
			return nil, err
		}
	}
	return Parse(name, content, set)
}

func readFile(name string) ([]byte, error) {
	file, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s: no such file, and no scenario of that name is built in: %s", name, strings.Join(Builtin(), ", "))
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(content) > maxFile {
		err = fmt.Errorf("%s: longer than %d bytes", name, maxFile)
	}
	return content, err
}

// Parse reads a scenario's YAML. What it returns as an error is an [*Error].
func Parse(file string, content []byte, set []string) (*Scenario, error) {
	s, d := Default(), &decoder{file: file, lines: make(map[string]place)}
	var document yaml.Node
	if err := yaml.Unmarshal(content, &document); err != nil {
		return nil, yamlError(file, err)
	}
	if len(document.Content) == 0 {
		return nil, &Error{File: file, Err: errors.New("the scenario is empty")}
	}
	if err := d.decode(document.Content[0], "", reflect.ValueOf(s).Elem()); err != nil {
		return nil, err
	}
	if err := d.set(s, set); err != nil {
		return nil, err
	}
	if err := d.findTraces(&s.Origins); err != nil {
		return nil, err
	}
	if s.Subscriptions.Count == 0 {
		s.Subscriptions.Count = s.Origins.Channels
	}
	s.Text = content
	return s, d.check(s)
}

// findTraces finds recorded documents, and makes channels of those that are replayed whole.
func (d *decoder) findTraces(o *Origins) (err error) {
	if o.Changes.Kind == Replay {
		_, err = loadgen.TraceFiles(o.Changes.File)
		d.want(err == nil, "origins.changes", "%w", err)
	}
	if o.Traces == "" {
		return d.wrong
	}
	o.Files, err = loadgen.TraceFiles(o.Traces)
	d.want(err == nil, "origins.traces", "%w", err)
	d.want(o.Spread.Exponent == 0, "origins.spread", "recorded documents are on one host")
	o.Channels, o.Hosts = len(o.Files), 1
	return d.wrong
}

// yamlError turns the parser's message, which begins with "yaml: line N: ".
func yamlError(file string, err error) error {
	message, line := strings.TrimPrefix(err.Error(), "yaml: "), 0
	if _, scanErr := fmt.Sscanf(message, "line %d:", &line); scanErr == nil {
		_, message, _ = strings.Cut(message, ": ")
	}
	return &Error{File: file, Line: line, Err: errors.New(message)}
}

// set replaces values by key=value pairs.
func (d *decoder) set(s *Scenario, pairs []string) error {
	for _, pair := range pairs {
		key, value, found := strings.Cut(pair, "=")
		of := &decoder{file: "--set " + pair, lines: d.lines}
		into := reflect.ValueOf(s).Elem()
		for name := range strings.SplitSeq(key, ".") {
			known := into.Kind() == reflect.Struct
			if known {
				into, known = fieldOf(into, name)
			}
			if !known || !found {
				return &Error{File: of.file, Key: key, Err: errors.New("unknown key; want KEY=VALUE, such as origins.hosts=10")}
			}
		}
		var node yaml.Node
		if err := yaml.Unmarshal([]byte(value), &node); err != nil || len(node.Content) != 1 {
			return &Error{File: of.file, Key: key, Err: errors.New("the value is no YAML")}
		}
		lineless(&node)
		if err := of.decode(node.Content[0], key, into); err != nil {
			return err
		}
	}
	return nil
}

// lineless takes the lines off a tree that was not read from a file.
func lineless(node *yaml.Node) {
	node.Line = 0
	for _, child := range node.Content {
		lineless(child)
	}
}
