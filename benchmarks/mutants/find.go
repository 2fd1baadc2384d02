package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
)

// mutant is one fault, and how its file is rewritten to hold it.
type mutant struct {
	id    int
	kind  string // "boundary", "negation", "arithmetic", ...
	what  string // the code that is changed, cut
	where token.Position
	fate  fate
	edits []edit
	file  *file
}

func (m *mutant) String() string {
	return fmt.Sprintf("%s:%d:%d %s: %s", filepath.Base(m.where.Filename), m.where.Line, m.where.Column, m.kind, m.what)
}

// edit puts text in the place of a file's bytes [from, to). Those that enclose more
// come first where several begin at one place, and last where they end.
type edit struct {
	from, to int
	text     string
	ends     bool
	size     int // bytes that the edit's node spans
}

// finder walks one file.
type finder struct {
	file  *file
	pkg   *types.Package
	info  *types.Info
	next  int
	only  string
	found []mutant
}

func find(f *file, pkg *types.Package, info *types.Info, next int, only string) []mutant {
	w := &finder{file: f, pkg: pkg, info: info, next: next, only: only}
	for _, d := range f.tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Body != nil {
				w.walk(d.Body)
			}
		case *ast.GenDecl:
			if d.Tok == token.VAR {
				w.walk(d)
			}
		}
	}
	return w.found
}

func (w *finder) walk(root ast.Node) {
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ArrayType:
			return false
		case *ast.GenDecl:
			return n.Tok == token.VAR
		case *ast.BlockStmt:
			w.statements(n.List)
		case *ast.CaseClause:
			w.statements(n.Body)
		case *ast.IfStmt:
			w.condition(n.Cond)
		case *ast.ForStmt:
			w.condition(n.Cond)
		case *ast.ReturnStmt:
			w.results(n)
			if len(n.Results) > 1 {
				return w.severalResults(n)
			}
		case *ast.CallExpr:
			return w.call(n)
		case *ast.CompositeLit:
			w.literal(n)
			return false
		case *ast.UnaryExpr:
			w.unary(n)
		case ast.Expr:
			return w.expression(n)
		}
		return true
	})
}

// literal walks a composite literal, but not the indices of an array's, which are constant.
func (w *finder) literal(n *ast.CompositeLit) {
	for _, elt := range n.Elts {
		if kv, ok := elt.(*ast.KeyValueExpr); ok {
			elt = kv.Value
		}
		w.walk(elt)
	}
}

// severalResults walks results, but not the constants, of which one says what the
// others are worth.
func (w *finder) severalResults(n *ast.ReturnStmt) bool {
	for _, r := range n.Results {
		if w.info.Types[r].Value == nil {
			w.walk(r)
		}
	}
	return false
}

// call walks a call, but not what make says of capacities.
func (w *finder) call(n *ast.CallExpr) bool {
	if w.info.Types[n].Value != nil {
		return w.expression(n)
	}
	name, _ := n.Fun.(*ast.Ident)
	if name == nil || name.Name != "make" {
		return true
	}
	if _, slice := w.info.Types[n.Args[0]].Type.Underlying().(*types.Slice); slice && len(n.Args) == 2 {
		w.walk(n.Args[1])
	}
	return false
}

// expression finds the mutants of an expression; it reports whether to walk into it.
func (w *finder) expression(e ast.Expr) bool {
	tv := w.info.Types[e]
	if tv.Value != nil {
		w.constant(e, tv)
		return false
	}
	if b, ok := e.(*ast.BinaryExpr); ok {
		w.binary(b)
	}
	return true
}

var swaps = map[token.Token]string{
	token.ADD: "add", token.SUB: "sub", token.MUL: "mul", token.QUO: "quo", token.REM: "rem",
	token.SHL: "shl", token.SHR: "shr", token.AND: "and", token.OR: "or", token.XOR: "xor", token.AND_NOT: "andNot",
}

var compares = map[token.Token]string{token.LSS: "less", token.LEQ: "lessEqual", token.GTR: "more", token.GEQ: "moreEqual"}

func (w *finder) binary(b *ast.BinaryExpr) {
	switch {
	case b.Op == token.EQL || b.Op == token.NEQ:
		w.negate(b, "negation")
	case b.Op == token.LAND:
		w.operand(b.X, b, " || mutantOn(%d))")
		w.operand(b.Y, b, " || mutantOn(%d))")
	case b.Op == token.LOR:
		w.operand(b.X, b, " && !mutantOn(%d))")
		w.operand(b.Y, b, " && !mutantOn(%d))")
	case compares[b.Op] != "":
		id := w.next
		w.add("boundary", b, w.infix(b, fmt.Sprintf("mutant_%s(%d, ", compares[b.Op], id))...)
		if len(w.found) > 0 && w.found[len(w.found)-1].id == id {
			w.add("negation", b) // by the same edit, the id after
		}
	case swaps[b.Op] != "" && isNumber(w.info.Types[b].Type):
		of := ""
		if b.Op == token.SHL || b.Op == token.SHR {
			of = "[" + w.nameOf(w.info.Types[b].Type) + "]"
			if of == "[]" {
				return
			}
		}
		w.add("arithmetic", b, w.infix(b, fmt.Sprintf("mutant_%s%s(%d, ", swaps[b.Op], of, w.next))...)
	}
}

// operand drops one side of a logical operator.
func (w *finder) operand(side ast.Expr, of *ast.BinaryExpr, suffix string) {
	w.add("dropped condition", side, w.around(side, "((", ")"+fmt.Sprintf(suffix, w.next))...)
	_ = of
}

// condition negates the leaves of a condition that are no comparisons.
func (w *finder) condition(e ast.Expr) {
	switch e := e.(type) {
	case nil, *ast.BinaryExpr:
		if b, ok := e.(*ast.BinaryExpr); ok && (b.Op == token.LAND || b.Op == token.LOR) {
			return // each operand is dropped already
		}
	case *ast.ParenExpr:
		w.condition(e.X)
	case *ast.UnaryExpr:
		w.condition(e.X)
	default:
		w.negate(e, "negation")
	}
}

// results negates a truth value that is returned alone.
func (w *finder) results(n *ast.ReturnStmt) {
	if len(n.Results) == 1 {
		if t, ok := w.info.Types[n.Results[0]]; ok && t.Value == nil && isBool(t.Type) {
			w.condition(n.Results[0])
		}
	}
}

func (w *finder) negate(e ast.Expr, kind string) {
	w.add(kind, e, w.around(e, "((", fmt.Sprintf(") != mutantOn(%d))", w.next))...)
}

func (w *finder) unary(n *ast.UnaryExpr) {
	if n.Op == token.SUB && w.info.Types[n].Value == nil {
		w.add("negative", n.X, w.around(n.X, fmt.Sprintf("mutant_neg(%d, ", w.next), ")")...)
	}
}

// constant makes a whole number one larger. Those of named types are mostly
// enumerations and stay, but durations.
func (w *finder) constant(e ast.Expr, tv types.TypeAndValue) {
	basic, ok := tv.Type.Underlying().(*types.Basic)
	if !ok || basic.Info()&types.IsInteger == 0 {
		return
	}
	if _, named := tv.Type.(*types.Named); named && tv.Type.String() != "time.Duration" {
		return
	}
	name := w.nameOf(tv.Type)
	if name == "untyped int" || name == "untyped rune" {
		name = "int"
	}
	if name == "" {
		return
	}
	w.add("constant", e, w.around(e, fmt.Sprintf("mutant_next[%s](%d, ", name, w.next), ")")...)
}

// statements removes calls, assignments, steps, and the ends of loops.
func (w *finder) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt:
			w.remove(s)
		case *ast.IncDecStmt:
			w.remove(s)
		case *ast.AssignStmt:
			if s.Tok != token.DEFINE {
				w.remove(s)
			}
			if s.Tok == token.ADD_ASSIGN || s.Tok == token.SUB_ASSIGN {
				if isNumber(w.info.Types[s.Lhs[0]].Type) {
					w.add("arithmetic", s, w.around(s.Rhs[0], fmt.Sprintf("mutant_neg(%d, ", w.next), ")")...)
				}
			}
		}
	}
}

func (w *finder) remove(s ast.Stmt) {
	if blank(s) {
		return
	}
	w.add("removed", s, w.around(s, fmt.Sprintf("if !mutantOn(%d) { ", w.next), " }")...)
}

// blank reports assignments to nothing.
func blank(s ast.Stmt) bool {
	a, ok := s.(*ast.AssignStmt)
	if !ok {
		return false
	}
	for _, l := range a.Lhs {
		if id, ok := l.(*ast.Ident); !ok || id.Name != "_" {
			return false
		}
	}
	return true
}

func (w *finder) around(n ast.Node, prefix, suffix string) []edit {
	from, to := w.offset(n.Pos()), w.offset(n.End())
	return []edit{{from, from, prefix, false, to - from}, {to, to, suffix, true, to - from}}
}

// infix makes a call of an infix operator.
func (w *finder) infix(b *ast.BinaryExpr, prefix string) []edit {
	op := w.offset(b.OpPos)
	return append(w.around(b, prefix, ")"), edit{op, op + len(b.Op.String()), ",", false, 0})
}

func (w *finder) offset(p token.Pos) int { return w.file.fset.Position(p).Offset }

func (w *finder) add(kind string, n ast.Node, edits ...edit) {
	if w.only != "" && !strings.Contains(","+w.only+",", ","+kind+",") && len(edits) > 0 && kind != "boundary" {
		return
	}
	what := string(w.file.text[w.offset(n.Pos()):w.offset(n.End())])
	what = strings.Join(strings.Fields(what), " ")
	if len(what) > 80 {
		what = what[:80] + "…"
	}
	w.found = append(w.found, mutant{id: w.next, kind: kind, what: what, where: w.file.fset.Position(n.Pos()), edits: edits, file: w.file})
	w.next++
}

// nameOf returns how the file calls a type, empty if it cannot.
func (w *finder) nameOf(t types.Type) string {
	imported := true
	name := types.TypeString(t, func(p *types.Package) string {
		if p == w.pkg {
			return ""
		}
		for _, i := range w.file.tree.Imports {
			if strings.Trim(i.Path.Value, `"`) == p.Path() && i.Name == nil {
				return p.Name()
			}
		}
		imported = false
		return ""
	})
	if !imported {
		return ""
	}
	return name
}

func isNumber(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsNumeric != 0
}

func isBool(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsBoolean != 0
}
