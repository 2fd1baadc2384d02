package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// source is a package with the mutants found in it.
type source struct {
	path    string // import path
	dir     string
	name    string
	files   []*file
	mutants []mutant // in the order of their ids, which begin at 1
}

// file is one file of a package that is mutated.
type file struct {
	path string
	text []byte
	fset *token.FileSet
	tree *ast.File
}

// listed is what `go list` says of a package.
type listed struct {
	ImportPath, Dir, Name, Export string
	GoFiles                       []string
	DepOnly                       bool
}

// load reads and type-checks a package and finds its mutants.
func load(ctx context.Context, c config) (*source, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-export", "-deps", "-json=ImportPath,Dir,Name,Export,GoFiles,DepOnly", c.pkg)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", c.pkg, err)
	}
	exports := make(map[string]string)
	var target *listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if exports[l.ImportPath] = l.Export; !l.DepOnly {
			target = &l
		}
	}
	if target == nil {
		return nil, fmt.Errorf("no package %s", c.pkg)
	}
	return parse(target, exports, c)
}

func parse(l *listed, exports map[string]string, c config) (*source, error) {
	p := &source{path: l.ImportPath, dir: l.Dir, name: l.Name}
	fset := token.NewFileSet()
	var trees []*ast.File
	for _, name := range l.GoFiles {
		path := filepath.Join(l.Dir, name)
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		tree, err := parser.ParseFile(fset, path, text, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		trees = append(trees, tree)
		if c.files == "" || slices.Contains(strings.Split(c.files, ","), name) {
			p.files = append(p.files, &file{path: path, text: text, fset: fset, tree: tree})
		}
	}
	info := &types.Info{Types: make(map[ast.Expr]types.TypeAndValue), Uses: make(map[*ast.Ident]types.Object)}
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	checked, err := conf.Check(l.ImportPath, fset, trees, info)
	if err != nil {
		return nil, err
	}
	for _, f := range p.files {
		p.mutants = append(p.mutants, find(f, checked, info, len(p.mutants)+1, c.only)...)
	}
	return p, nil
}
