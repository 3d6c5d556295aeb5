package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

//go:embed mutant/mutant.go
var mutantSource []byte

// A place is something in the program that can be changed. Texts are put before and after it, and instead of its
// operator, if that has a length; # in them is its number.
type place struct {
	number                         int
	position                       string // FILE:LINE
	change, before, after, instead string
	start, end, operator, length   int // in the source
	newStart, newEnd               int // in the changed source
	doesNotCompile                 bool
}

// A source is a file of the program, and its places in the order in which they begin: one inside another comes after
// it.
type source struct {
	path, name string
	text       []byte
	clause     int // where the package clause ends
	places     []*place
}

// finder finds the places of a source.
type finder struct {
	*source
	files    *token.FileSet
	function *ast.FuncType // that encloses what is visited
	numbers  *int
}

// change changes every place in these folders of a copy of the repository. It returns those with which it compiles.
// Their numbers follow from the program alone.
func change(root string, folders []string) (places []*place) {
	var sources []*source
	numbers := 0
	for _, folder := range folders {
		must(filepath.WalkDir(filepath.Join(root, folder), func(path string, _ fs.DirEntry, err error) error {
			must(err)
			built, _ := build.Default.MatchFile(filepath.Split(path))
			if built && !strings.HasSuffix(path, "_test.go") {
				sources = append(sources, find(root, path, &numbers))
			}
			return nil
		}))
	}
	helper := filepath.Join(root, "mutant/mutant.go")
	must(os.MkdirAll(filepath.Dir(helper), 0o755))
	must(os.WriteFile(helper, mutantSource, 0o644))
	build := "go build -gcflags=-e ./" + strings.Join(folders, "/... ./") + "/... 2>&1 || true" // -e names all mistakes
	for output := "?"; output != ""; {
		for _, s := range sources {
			s.write()
		}
		output = execute(root, "sh", "-c", build)
		dropped := 0
		for _, s := range sources {
			dropped += s.drop(output)
		}
		if output != "" && dropped == 0 {
			log.Fatalln("the changed copy:", output)
		}
	}
	for _, s := range sources {
		places = append(places, slices.DeleteFunc(s.places, func(p *place) bool { return p.doesNotCompile })...)
	}
	return places
}

func find(root, path string, numbers *int) *source {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	must(err)
	s := &source{path: path, clause: files.Position(parsed.Name.End()).Offset}
	s.text, err = os.ReadFile(path)
	must(err)
	s.name, err = filepath.Rel(root, path)
	must(err)
	ast.Walk(finder{s, files, nil, numbers}, parsed)
	return s
}

func (f finder) offset(pos token.Pos) int { return f.files.Position(pos).Offset }
func (f finder) between(from, to token.Pos) string {
	return string(f.text[f.offset(from):f.offset(to)])
}
func (f finder) position(pos token.Pos) string {
	return fmt.Sprint(f.name, ":", f.files.Position(pos).Line)
}

func (f finder) add(node ast.Node, change, before, after string) *place {
	*f.numbers++
	p := &place{number: *f.numbers, position: f.position(node.Pos()), change: change, before: before, after: after,
		start: f.offset(node.Pos()), end: f.offset(node.End())}
	f.places = append(f.places, p)
	return p
}

// Visit adds the places that a node is, or of which it is the list.
func (f finder) Visit(node ast.Node) ast.Visitor {
	switch node := node.(type) {
	case *ast.GenDecl:
		if node.Tok != token.VAR {
			return nil
		}
	case *ast.FuncDecl:
		f.function = node.Type
	case *ast.FuncLit:
		f.function = node.Type
	case *ast.BlockStmt:
		f.statements(node.List)
	case *ast.CaseClause:
		f.statements(node.Body)
	case *ast.CommClause:
		f.statements(node.Body)
	case *ast.IfStmt:
		f.add(node.Cond, "the condition is true", "((", ") || mutant.On(#))")
		f.add(node.Cond, "the condition is false", "((", ") && !mutant.On(#))")
	case *ast.BasicLit:
		if node.Kind == token.INT {
			f.add(node, node.Value+" becomes one more", "(", " + mutant.Zero(#))")
		}
	case *ast.BinaryExpr:
		f.operator(node)
	}
	return f
}

var operators = map[token.Token]struct{ other, function, comma, end string }{
	token.LSS:  {"<=", "Less", ", ", ")"},
	token.GTR:  {">=", "More", ", ", ")"},
	token.LEQ:  {"<", "Most", ", ", ")"},
	token.GEQ:  {">", "Least", ", ", ")"},
	token.ADD:  {"-", "Plus", ", ", ")"},
	token.SUB:  {"+", "Minus", ", ", ")"},
	token.LAND: {"||", "And", ", func() bool { return (", ") })"},
	token.LOR:  {"&&", "Or", ", func() bool { return (", ") })"},
}

func (f finder) operator(node *ast.BinaryExpr) {
	if node.Op == token.EQL || node.Op == token.NEQ {
		other := map[token.Token]string{token.EQL: "!=", token.NEQ: "=="}[node.Op]
		f.add(node, node.Op.String()+" becomes "+other, "((", ") != mutant.On(#))")
		return
	}
	if o, known := operators[node.Op]; known {
		p := f.add(node, node.Op.String()+" becomes "+o.other, "mutant."+o.function+"(#, ", o.end)
		p.position, p.operator = f.position(node.OpPos), f.offset(node.OpPos)
		p.length, p.instead = len(node.Op.String()), o.comma
	}
}

// statements adds those that can be left out, or changed as a whole.
func (f finder) statements(list []ast.Stmt) {
	others := map[token.Token]string{token.INC: "--", token.DEC: "++", token.ADD_ASSIGN: "-=", token.SUB_ASSIGN: "+="}
	for _, statement := range list {
		replace := func(operator token.Token, at token.Pos) {
			if other, known := others[operator]; known {
				changed := f.between(statement.Pos(), at) + other + f.between(at+2, statement.End())
				f.add(statement, operator.String()+" becomes "+other, "if mutant.On(#) { "+changed+" } else { ", " }")
			}
		}
		switch s := statement.(type) {
		case *ast.ExprStmt:
			if !strings.HasPrefix(f.between(s.Pos(), s.End()), "panic(") { // it may be how a function ends
				f.add(s, "the call is removed", "if !mutant.On(#) { ", " }")
			}
		case *ast.AssignStmt:
			if s.Tok != token.DEFINE {
				f.add(s, "the assignment is removed", "if !mutant.On(#) { ", " }")
				replace(s.Tok, s.TokPos)
			}
		case *ast.IncDecStmt:
			replace(s.Tok, s.TokPos)
		case *ast.ReturnStmt:
			if results := f.function.Results; results != nil && len(s.Results) == results.NumFields() {
				last := s.Results[len(s.Results)-1]
				kind, named := results.List[len(results.List)-1].Type.(*ast.Ident)
				if named && kind.Name == "error" && f.between(last.Pos(), last.End()) != "nil" {
					other := f.between(s.Pos(), last.Pos()) + "nil"
					f.add(s, "returns nil instead of the error", "if mutant.On(#) { "+other+" }; ", "")
				}
			}
		}
	}
}

// write writes the source with every place that compiles.
func (s *source) write() {
	type insertion struct {
		at, order, instead int // at one offset, what is inside ends before what is around it, and begins after
		text               string
		written            *int
	}
	all := []insertion{{s.clause, 0, 0, `; import "users-api/mutant"`, new(int)}}
	for _, p := range s.places {
		if p.doesNotCompile {
			continue
		}
		number := strconv.Itoa(p.number)
		all = append(all, insertion{p.start, p.number, 0, strings.Replace(p.before, "#", number, 1), &p.newStart},
			insertion{p.end, -p.number, 0, strings.Replace(p.after, "#", number, 1), &p.newEnd})
		if p.length > 0 {
			all = append(all, insertion{p.operator, 0, p.length, p.instead, new(int)})
		}
	}
	slices.SortStableFunc(all, func(a, b insertion) int { return cmp.Or(a.at-b.at, a.order-b.order) })
	var text []byte
	last := 0
	for _, i := range all {
		text = append(text, s.text[last:i.at]...)
		*i.written = len(text)
		text = append(text, i.text...)
		last = i.at + i.instead
	}
	text = append(append(text, s.text[last:]...), "\nvar _ = mutant.On\n"...)
	must(os.WriteFile(s.path, text, 0o644))
}

// drop leaves out the places that the compiler's messages are about, and returns how many.
func (s *source) drop(output string) int {
	text, err := os.ReadFile(s.path)
	must(err)
	lines := strings.SplitAfter(string(text), "\n")
	messages := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(s.name) + `:(\d+)(?::(\d+))?: (?:.*mutant\.\w+\((\d+))?`)
	var dropped []*place
	for _, match := range messages.FindAllStringSubmatch(output, -1) {
		line, _ := strconv.Atoi(match[1])
		column, _ := strconv.Atoi(match[2])
		named, _ := strconv.Atoi(match[3])
		at := len(strings.Join(lines[:line-1], "")) + column - 1
		if column == 0 { // it is past 255
			at += len(lines[line-1])
		}
		// It is the place that is named, or else the smallest around the mistake, or else the one that ends last
		// before it.
		var found *place
		for _, p := range s.places {
			if p.doesNotCompile || p.newStart > at {
				continue
			}
			if found == nil || p.newEnd > at || found.newEnd <= at && p.newEnd >= found.newEnd {
				found = p
			}
		}
		if i := slices.IndexFunc(s.places, func(p *place) bool { return p.number == named }); i >= 0 {
			found = s.places[i]
		}
		if found != nil {
			dropped = append(dropped, found)
		}
	}
	for _, p := range dropped {
		p.doesNotCompile = true
	}
	return len(dropped)
}
