package scenario

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Error is something wrong at a place of a scenario.
type Error struct {
	File string
	Line int    // 0: not from a line
	Key  string // with dots and indices, such as origins.errors or events[2].at
	Err  error
}

func (e *Error) Error() string {
	place := e.File
	if e.Line > 0 {
		place += ":" + strconv.Itoa(e.Line)
	}
	if e.Key != "" {
		return fmt.Sprintf("%s: %s: %v", place, e.Key, e.Err)
	}
	return fmt.Sprintf("%s: %v", place, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// decoder fills a scenario from a tree of YAML, and remembers where each key stands.
type decoder struct {
	file  string
	lines map[string]place // by key
	wrong error            // the first that is wrong with a value
}

// place is where a key was given.
type place struct {
	file string
	line int
}

func (d *decoder) fail(node *yaml.Node, key string, format string, args ...any) error {
	return &Error{d.file, node.Line, key, fmt.Errorf(format, args...)}
}

// decode fills a value from a node.
func (d *decoder) decode(node *yaml.Node, key string, into reflect.Value) error {
	d.lines[key] = place{d.file, node.Line}
	if node.Kind == yaml.AliasNode {
		return d.fail(node, key, "aliases are not understood")
	}
	if into.Kind() == reflect.Pointer {
		into.Set(reflect.New(into.Type().Elem()))
		into = into.Elem()
	}
	if value, ok := into.Addr().Interface().(text); ok {
		return d.scalar(node, key, value.parse)
	}
	if into.Type() == reflect.TypeFor[time.Duration]() {
		return d.scalar(node, key, func(s string) error { return parseDuration(s, into) })
	}
	switch into.Kind() {
	case reflect.Struct:
		return d.mapping(node, key, into)
	case reflect.Slice:
		return d.sequence(node, key, into)
	}
	return d.scalar(node, key, func(s string) error { return parsePlain(s, into) })
}

func (d *decoder) scalar(node *yaml.Node, key string, parse func(string) error) error {
	if node.Kind != yaml.ScalarNode {
		return d.fail(node, key, "want one value")
	}
	if err := parse(strings.TrimSpace(node.Value)); err != nil {
		return d.fail(node, key, "%q: %w", node.Value, err)
	}
	return nil
}

func (d *decoder) mapping(node *yaml.Node, key string, into reflect.Value) error {
	if node.Kind != yaml.MappingNode {
		return d.fail(node, key, "want keys with values")
	}
	seen := make(map[string]bool)
	for i := 0; i+1 < len(node.Content); i += 2 {
		name := node.Content[i]
		field, known := fieldOf(into, name.Value)
		switch {
		case !known:
			return d.fail(name, join(key, name.Value), "unknown key; want one of %s", strings.Join(keysOf(into), ", "))
		case seen[name.Value]:
			return d.fail(name, join(key, name.Value), "the key is there twice")
		}
		seen[name.Value] = true
		if err := d.decode(node.Content[i+1], join(key, name.Value), field); err != nil {
			return err
		}
	}
	return nil
}

// mostItems bounds a list, in items.
const mostItems = 10_000

func (d *decoder) sequence(node *yaml.Node, key string, into reflect.Value) error {
	if node.Kind != yaml.SequenceNode || len(node.Content) > mostItems {
		return d.fail(node, key, "want a list of at most %d", mostItems)
	}
	into.Set(reflect.MakeSlice(into.Type(), len(node.Content), len(node.Content)))
	for i, item := range node.Content {
		if err := d.decode(item, fmt.Sprintf("%s[%d]", key, i), into.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

func join(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}

func fieldOf(of reflect.Value, name string) (reflect.Value, bool) {
	for i := range of.NumField() {
		if tag := of.Type().Field(i).Tag.Get("yaml"); tag != "" && tag == name {
			return of.Field(i), true
		}
	}
	return reflect.Value{}, false
}

func keysOf(of reflect.Value) (keys []string) {
	for i := range of.NumField() {
		if tag := of.Type().Field(i).Tag.Get("yaml"); tag != "" {
			keys = append(keys, tag)
		}
	}
	return keys
}

func parseDuration(from string, into reflect.Value) error {
	d, err := time.ParseDuration(from)
	if err != nil || d < 0 {
		return errors.New("want a duration, such as 30s")
	}
	into.SetInt(int64(d))
	return nil
}

func parsePlain(from string, into reflect.Value) error {
	switch into.Kind() {
	case reflect.String:
		into.SetString(from)
	case reflect.Bool:
		value, err := strconv.ParseBool(from)
		if err != nil {
			return errors.New("want true or false")
		}
		into.SetBool(value)
	case reflect.Int:
		value, err := strconv.Atoi(strings.ReplaceAll(from, "_", ""))
		if err != nil || value < 0 {
			return errors.New("want a whole number, 0 or more")
		}
		into.SetInt(int64(value))
	case reflect.Uint64:
		value, err := strconv.ParseUint(from, 10, 64)
		if err != nil {
			return errors.New("want a whole number, 0 or more")
		}
		into.SetUint(value)
	case reflect.Float64:
		value, err := strconv.ParseFloat(from, 64)
		if err != nil || math.IsNaN(value) || math.IsInf(value, 0) || value < 0 {
			return errors.New("want a number, 0 or more")
		}
		into.SetFloat(value)
	default:
		panic("scenario: a field of kind " + into.Kind().String())
	}
	return nil
}
