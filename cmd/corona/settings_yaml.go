package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
)

const maxConfig = 1 << 20 // bytes

// readConfig returns the settings in a YAML file: a mapping from names of flags
// to a value each, or to a list for a flag that takes several.
func readConfig(path string, known map[string]*pflag.Flag) ([]setting, error) {
	content, err := cli.ReadFile(path, maxConfig)
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var document yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := decoder.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: more than one YAML document", path)
	}
	return configSettings(path, document.Content[0], known)
}

func configSettings(path string, root *yaml.Node, known map[string]*pflag.Flag) ([]setting, error) {
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" { // nothing but comments
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s:%d: want \"key: value\" lines, the keys being names of flags", path, root.Line)
	}
	var settings []setting
	for i := 0; i < len(root.Content); i += 2 {
		s, err := configSetting(path, root.Content[i], root.Content[i+1], known)
		if err != nil {
			return nil, err
		}
		settings = append(settings, s)
	}
	return settings, checkOnce(settings)
}

func configSetting(path string, key, value *yaml.Node, known map[string]*pflag.Flag) (setting, error) {
	origin := fmt.Sprintf("%s:%d: %s", path, key.Line, key.Value)
	if key.Value == configFlag {
		return setting{}, fmt.Errorf("%s: a file cannot name another", origin)
	}
	values, err := configValues(value)
	if err != nil {
		return setting{}, fmt.Errorf("%s: %w", origin, err)
	}
	s, ok := resolve(key.Value, origin, values, known)
	if !ok {
		return setting{}, fmt.Errorf("%s:%d: unknown key %q: no command has a flag of that name", path, key.Line, key.Value)
	}
	if s.inFile && len(values) != 1 {
		return setting{}, fmt.Errorf("%s: want one file", origin)
	}
	return s, nil
}

// configValues returns a value, or the values of a list, as they were written.
func configValues(node *yaml.Node) ([]string, error) {
	if node.Kind == yaml.ScalarNode && node.Tag != "!!null" {
		return []string{node.Value}, nil
	}
	if node.Kind != yaml.SequenceNode {
		return nil, errors.New("want a value or a list of values")
	}
	values := []string{}
	for _, item := range node.Content {
		if item.Kind != yaml.ScalarNode || item.Tag == "!!null" {
			return nil, fmt.Errorf("line %d: want a plain value in the list", item.Line)
		}
		values = append(values, item.Value)
	}
	return values, nil
}
