package main

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

//go:embed mutant/mutant.go
var mutantSource []byte

// number stands for the number of a place in the texts that are put around it.
const number = "\x00"

// A place is something in the program that can be changed. Texts are put before and after it, and instead of its operator.
type place struct {
	number           int
	file             string
	line             int
	change           string
	start, end       int // in the source
	before, after    string
	operator, length int // in the source, unless there is none
	instead          string
	newStart, newEnd int // in the changed source
	doesNotCompile   bool
}

// tree is a copy of the repository that is changed at every place.
type tree struct {
	root    string
	sources map[string][]byte // by path from root
	clauses map[string]int    // where the package clause ends in each
	places  []*place
}

// findPlaces numbers the places of some folders, in the order of files and of what is in them.
func findPlaces(root string, folders []string) (*tree, error) {
	t := &tree{root: root, sources: map[string][]byte{}, clauses: map[string]int{}}
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			built, err := build.Default.MatchFile(filepath.Dir(path), filepath.Base(path))
			if err != nil || !built {
				return err
			}
			return t.read(path)
		})
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *tree) read(path string) error {
	source, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, path, source, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	name, _ := filepath.Rel(t.root, path)
	t.sources[name], t.clauses[name] = source, files.Position(parsed.Name.End()).Offset
	f := &finder{tree: t, name: name, source: source, files: files}
	for _, declaration := range parsed.Decls {
		ast.Inspect(declaration, f.visit)
	}
	return nil
}

// finder finds the places of a file.
type finder struct {
	tree     *tree
	name     string
	source   []byte
	files    *token.FileSet
	function []*ast.FuncType // that encloses what is visited: the end of the last
	ends     []token.Pos
}

func (f *finder) offset(pos token.Pos) int { return f.files.Position(pos).Offset }
func (f *finder) text(from, to token.Pos) string {
	return string(f.source[f.offset(from):f.offset(to)])
}

// add adds a place, which begins and ends with the node.
func (f *finder) add(node ast.Node, change, before, after string) *place {
	p := &place{
		number: len(f.tree.places) + 1, file: f.name, line: f.files.Position(node.Pos()).Line, change: change,
		start: f.offset(node.Pos()), end: f.offset(node.End()), before: before, after: after,
	}
	f.tree.places = append(f.tree.places, p)
	return p
}

// addCall makes an operator a call of the package mutant.
func (f *finder) addCall(node *ast.BinaryExpr, other, function, comma, after string) {
	p := f.add(node, node.Op.String()+" becomes "+other, "mutant."+function+"("+number+", ", after)
	p.line, p.operator = f.files.Position(node.OpPos).Line, f.offset(node.OpPos)
	p.length, p.instead = len(node.Op.String()), comma
}

func (f *finder) visit(node ast.Node) bool {
	for len(f.ends) > 0 && node != nil && node.Pos() >= f.ends[len(f.ends)-1] {
		f.ends, f.function = f.ends[:len(f.ends)-1], f.function[:len(f.function)-1]
	}
	switch node := node.(type) {
	case *ast.GenDecl:
		return node.Tok == token.VAR
	case *ast.FuncDecl:
		f.function, f.ends = append(f.function, node.Type), append(f.ends, node.End())
	case *ast.FuncLit:
		f.function, f.ends = append(f.function, node.Type), append(f.ends, node.End())
	case *ast.BlockStmt:
		f.statements(node.List)
	case *ast.CaseClause:
		f.statements(node.Body)
	case *ast.CommClause:
		f.statements(node.Body)
	case *ast.IfStmt:
		f.add(node.Cond, "the condition is true", "((", ") || mutant.On("+number+"))")
		f.add(node.Cond, "the condition is false", "((", ") && !mutant.On("+number+"))")
	case *ast.BasicLit:
		if node.Kind == token.INT {
			f.add(node, node.Value+" becomes one more", "(", " + mutant.One("+number+"))")
		}
	case *ast.BinaryExpr:
		f.binary(node)
	}
	return true
}

func (f *finder) binary(node *ast.BinaryExpr) {
	switch node.Op {
	case token.EQL:
		f.add(node, "== becomes !=", "((", ") != mutant.On("+number+"))")
	case token.NEQ:
		f.add(node, "!= becomes ==", "((", ") != mutant.On("+number+"))")
	case token.LSS:
		f.addCall(node, "<=", "Less", ", ", ")")
	case token.GTR:
		f.addCall(node, ">=", "Greater", ", ", ")")
	case token.LEQ:
		f.addCall(node, "<", "AtMost", ", ", ")")
	case token.GEQ:
		f.addCall(node, ">", "AtLeast", ", ", ")")
	case token.ADD:
		f.addCall(node, "-", "Plus", ", ", ")")
	case token.SUB:
		f.addCall(node, "+", "Minus", ", ", ")")
	case token.LAND:
		f.addCall(node, "||", "And", ", func() bool { return (", ") })")
	case token.LOR:
		f.addCall(node, "&&", "Or", ", func() bool { return (", ") })")
	}
}

// statements adds the places that are a statement. What follows a panic could not be compiled without it.
func (f *finder) statements(list []ast.Stmt) {
	for _, statement := range list {
		switch s := statement.(type) {
		case *ast.ExprStmt:
			if !strings.HasPrefix(f.text(s.Pos(), s.End()), "panic(") {
				f.add(s, "the call is removed", "if !mutant.On("+number+") { ", " }")
			}
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				continue
			}
			f.add(s, "the assignment is removed", "if !mutant.On("+number+") { ", " }")
			if other := map[token.Token]string{token.ADD_ASSIGN: "-=", token.SUB_ASSIGN: "+="}[s.Tok]; other != "" {
				f.replace(s, s.Tok.String()+" becomes "+other, f.text(s.Pos(), s.TokPos)+other+f.text(s.TokPos+2, s.End()))
			}
		case *ast.IncDecStmt:
			other := map[token.Token]string{token.INC: "--", token.DEC: "++"}[s.Tok]
			f.replace(s, s.Tok.String()+" becomes "+other, f.text(s.Pos(), s.TokPos)+other)
		case *ast.ReturnStmt:
			f.returns(s)
		}
	}
}

func (f *finder) replace(node ast.Node, change, other string) {
	f.add(node, change, "if mutant.On("+number+") { "+other+" } else { ", " }")
}

// returns lets a function that returns an error return none.
func (f *finder) returns(s *ast.ReturnStmt) {
	results := f.function[len(f.function)-1].Results
	if results == nil || len(s.Results) == 0 || len(s.Results) != results.NumFields() {
		return
	}
	last := s.Results[len(s.Results)-1]
	kind, isName := results.List[len(results.List)-1].Type.(*ast.Ident)
	if !isName || kind.Name != "error" || f.text(last.Pos(), last.End()) == "nil" {
		return
	}
	f.add(s, "returns nil instead of the error", "if mutant.On("+number+") { "+f.text(s.Pos(), last.Pos())+"nil }; ", "")
}

// write writes the changed sources, with every place that compiles.
func (t *tree) write() error {
	for name, source := range t.sources {
		// At one offset, what ends comes before what begins; what is inside ends first and begins last.
		type insertion struct {
			at, order, instead int
			text               string
			written            *int
		}
		var unused int
		all := []insertion{{t.clauses[name], 0, 0, `; import "users-api/mutant"`, &unused}}
		for _, p := range t.places {
			if p.file != name || p.doesNotCompile {
				continue
			}
			numbered := func(text string) string { return strings.ReplaceAll(text, number, strconv.Itoa(p.number)) }
			all = append(all, insertion{p.start, p.number, 0, numbered(p.before), &p.newStart},
				insertion{p.end, -p.number, 0, numbered(p.after), &p.newEnd})
			if p.operator > 0 {
				all = append(all, insertion{p.operator, 0, p.length, p.instead, &unused})
			}
		}
		slices.SortStableFunc(all, func(a, b insertion) int { return cmp.Or(a.at-b.at, a.order-b.order) })
		var text strings.Builder
		last := 0
		for _, i := range all {
			text.Write(source[last:i.at])
			*i.written = text.Len()
			text.WriteString(i.text)
			last = i.at + i.instead
		}
		text.Write(source[last:])
		text.WriteString("\nvar _ = mutant.On\n")
		if err := os.WriteFile(filepath.Join(t.root, name), []byte(text.String()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

var mistake = regexp.MustCompile(`(?m)^(\S+\.go):(\d+)(?::(\d+))?: (?:.*mutant\.\w+\((\d+))?`)

// change changes the tree at every place, and leaves out those with which it does not compile.
func (t *tree) change(folders []string) error {
	helper := filepath.Join(t.root, "mutant/mutant.go")
	if err := errors.Join(os.MkdirAll(filepath.Dir(helper), 0o755), os.WriteFile(helper, mutantSource, 0o644)); err != nil {
		return err
	}
	for {
		if err := t.write(); err != nil {
			return err
		}
		command := exec.Command("go", "build", "-gcflags=-e")
		for _, folder := range folders {
			command.Args = append(command.Args, "./"+folder+"/...")
		}
		command.Dir = t.root
		output, err := command.CombinedOutput()
		if err == nil {
			return nil
		}
		var dropped []*place
		for _, match := range mistake.FindAllStringSubmatch(string(output), -1) {
			line, _ := strconv.Atoi(match[2])
			column, _ := strconv.Atoi(match[3]) // 0, past column 255
			p := t.culprit(match[1], line, column)
			if named, err := strconv.Atoi(match[4]); err == nil {
				p = t.places[named-1]
			}
			if p != nil {
				dropped = append(dropped, p)
			}
		}
		if len(dropped) == 0 {
			return fmt.Errorf("go build of the changed tree: %w\n%s", err, output)
		}
		for _, p := range dropped {
			p.doesNotCompile = true
		}
	}
}

// culprit is the smallest place around a mistake in the changed sources, or else the one that ends last before it.
func (t *tree) culprit(name string, line, column int) (found *place) {
	text, _ := os.ReadFile(filepath.Join(t.root, name)) // the compiler has just read it
	at := column - 1
	for before := range strings.Lines(string(text)) {
		if line--; line == 0 {
			if column == 0 {
				at = at + len(before)
			}
			break
		}
		at += len(before)
	}
	for _, p := range t.places {
		if p.file != name || p.doesNotCompile || p.newStart > at {
			continue
		}
		// Places are in the order in which they begin, and one inside another comes after it.
		if found == nil || p.newEnd > at || found.newEnd <= at && p.newEnd >= found.newEnd {
			found = p
		}
	}
	return found
}
