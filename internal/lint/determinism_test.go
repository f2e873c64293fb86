package lint_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Engine.Apply must do the same on each node and at each replay. So the packages that it
// reaches may depend on nothing but state, stamp and batch, and compute the same on all
// processors. Apply reaches the engine, and the implementation of its commands. All other
// packages follow by their imports.
var appliedRoots = []string{"engine", "commands/calls"}

// A rule of the packages that Apply reaches.
type applyRule string

const (
	ruleImport  applyRule = "import"  // of a standard package outside of appliedImports
	ruleTime    applyRule = "time"    // a use of package time outside of appliedTime
	ruleGo      applyRule = "go"      // a goroutine, or a use of a channel
	ruleSync    applyRule = "sync"    // a use of sync or sync/atomic: values of other goroutines
	ruleMap     applyRule = "map"     // the order of a map
	rulePointer applyRule = "pointer" // an address as a value
	ruleMath    applyRule = "math"    // a function of math that differs between processors
	ruleProduct applyRule = "product" // a product that compilers may fuse with a sum
	ruleCast    applyRule = "cast"    // a float as an integer: processors differ out of its range
	ruleAll     applyRule = ""
)

// appliedImports are the standard packages without clock, randomness, log, I/O, or knowledge
// of the machine.
var appliedImports = []string{
	"bytes", "cmp", "crypto/hkdf", "crypto/sha1", "crypto/sha256", "encoding/binary", "encoding/hex", "errors", "fmt",
	"iter", "maps",
	"math", "math/big", "math/bits", "net/netip", "slices", "sort", "strconv", "strings", "sync", "sync/atomic", "time",
	"unicode/utf8",
}

// appliedTime are the names of package time that depend on no clock and no time zone.
var appliedTime = []string{
	"Duration", "Nanosecond", "Microsecond", "Millisecond", "Second", "Minute", "Hour",
	"Microseconds", "Milliseconds", "Seconds", "Minutes", "Hours", "Nanoseconds", "Truncate", "Round", "Abs",
}

// appliedMath are the functions of package math that IEEE 754 defines exactly, or that only
// look at bits. Their result is the same on all processors, and in Go's own code where a
// processor lacks the instruction.
var appliedMath = []string{
	"Abs", "Ceil", "Copysign", "Float32bits", "Float32frombits", "Float64bits", "Float64frombits", "Floor", "Frexp", "Inf",
	"IsInf", "IsNaN", "Ldexp",
	"Mod", "Modf", "NaN", "RoundToEven", "Signbit", "Sqrt", "Trunc",
}

// mapOrder are the functions of package maps that yield elements in the order of a map.
var mapOrder = []string{"All", "Keys", "Values"}

// addressVerb matches the verb of package fmt for addresses.
var addressVerb = regexp.MustCompile(`%[-+# 0]*[0-9]*p`)

// A finding is a violation of a rule.
type finding struct {
	at       token.Position
	function string // that contains it, or empty
	rule     applyRule
	text     string
}

func (f *finding) String() string { return fmt.Sprintf("%s: %s (rule %s)", f.at, f.text, f.rule) }

func TestApplyIsDeterministic(t *testing.T) {
	used := make([]bool, len(applyExceptions))
	dirs := appliedPackages()
	for _, dir := range dirs {
		found, err := findingsIn(dir)
		if err != nil {
			t.Fatal(err)
		}
		for i := range found {
			if n := excepted(dir, &found[i]); n >= 0 {
				used[n] = true
				continue
			}
			t.Error(&found[i])
		}
	}
	for i, e := range applyExceptions {
		if !used[i] {
			t.Errorf("the exception of %s from the rule %q is not needed", e.place, e.rule)
		}
	}
	if len(dirs) < 15 {
		t.Errorf("Apply reaches %q only", dirs)
	}
}

// appliedPackages returns the folders of our packages that Apply reaches.
func appliedPackages() []string {
	dirs := map[string]bool{}
	for _, root := range appliedRoots {
		for _, name := range reach(root) {
			if dir, ours := strings.CutPrefix(name, module+"/"); ours {
				dirs[dir] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(dirs))
}

// excepted returns the index of the exception that permits a finding, or -1.
func excepted(dir string, f *finding) int {
	file := path.Join(dir, path.Base(f.at.Filename))
	return slices.IndexFunc(applyExceptions, func(e applyException) bool {
		return (e.rule == ruleAll || e.rule == f.rule) &&
			(e.place == dir || e.place == file || e.place == file+":"+f.function)
	})
}

// findingsIn returns the violations in a package. All processors and systems must compile the same
// files.
func findingsIn(dir string) ([]finding, error) {
	var lists [2]string
	var names []string
	for i, context := range []build.Context{build.Default,
		{GOROOT: build.Default.GOROOT, GOOS: "plan9", GOARCH: "s390x", Compiler: "gc"}} {
		p, err := context.ImportDir(dir, 0)
		if err != nil {
			return nil, err
		}
		names = slices.Concat(p.GoFiles, p.CgoFiles, p.SFiles)
		lists[i] = strings.Join(names, " ")
	}
	if lists[0] != lists[1] {
		return []finding{{token.Position{Filename: dir}, "", ruleImport, "it has files for some processors or systems only"}},
			nil
	}
	files := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range names {
		file, err := parser.ParseFile(files, path.Join(dir, name), nil, parser.ParseComments)
		if err != nil { // also for assembly
			return nil, err
		}
		parsed = append(parsed, file)
	}
	return findings(files, path.Join(module, dir), parsed)
}

// findings returns the violations in the files of a package.
func findings(files *token.FileSet, name string, parsed []*ast.File) ([]finding, error) {
	imports, err := exports()
	if err != nil {
		return nil, err
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importer.ForCompiler(files, "gc", imports)}
	if _, err := config.Check(name, files, parsed, info); err != nil {
		return nil, err
	}
	c := &applyChecker{files: files, info: info}
	for _, file := range parsed {
		c.file(file)
	}
	return c.found, nil
}

// exports returns a function that opens the compiled form of a package: of all packages that
// Apply reaches, and of those that the planted sources import.
var exports = sync.OnceValues(func() (importer.Lookup, error) {
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}
	for _, dir := range appliedPackages() {
		args = append(args, "./"+dir)
	}
	args = append(args, "math/rand/v2", "os", "time", "unsafe", "maps", "sync/atomic", "math/cmplx")
	output, err := exec.Command("go", args...).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return nil, fmt.Errorf("go list: %s", exit.Stderr)
		}
		return nil, err
	}
	names := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(output)); lines.Scan(); {
		name, file, _ := strings.Cut(lines.Text(), " ")
		names[name] = file
	}
	return func(name string) (io.ReadCloser, error) { return os.Open(names[name]) }, nil
})

// An applyChecker collects the violations in a package.
type applyChecker struct {
	files    *token.FileSet
	info     *types.Info
	function string
	rounded  map[ast.Expr]bool // operands of conversions to a type of floats
	found    []finding
}

func (c *applyChecker) complain(at token.Pos, rule applyRule, format string, args ...any) {
	c.found = append(c.found, finding{c.files.Position(at), c.function, rule, fmt.Sprintf(format, args...)})
}

func (c *applyChecker) file(file *ast.File) {
	for _, spec := range file.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		if isStandard(imported) && !slices.Contains(appliedImports, imported) {
			c.complain(spec.Pos(), ruleImport, "Apply may not reach package %s", imported)
		}
	}
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if strings.HasPrefix(comment.Text, "//go:linkname ") {
				c.complain(comment.Pos(), ruleImport, "Apply may not reach names of other packages by go:linkname")
			}
		}
	}
	c.rounded = map[ast.Expr]bool{}
	for _, declaration := range file.Decls {
		c.function = ""
		if f, ok := declaration.(*ast.FuncDecl); ok {
			c.function = f.Name.Name
		}
		ast.Inspect(declaration, func(node ast.Node) bool {
			c.node(node)
			return true
		})
	}
}

func (c *applyChecker) node(node ast.Node) {
	switch n := node.(type) {
	case *ast.GoStmt:
		c.complain(n.Pos(), ruleGo, "Apply may not start a goroutine")
	case *ast.SelectStmt, *ast.SendStmt:
		c.complain(n.Pos(), ruleGo, "Apply may not use a channel")
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			c.complain(n.Pos(), ruleGo, "Apply may not use a channel")
		}
	case *ast.RangeStmt:
		c.order(n)
	case *ast.Ident:
		c.use(n)
	case *ast.BasicLit:
		if n.Kind == token.STRING && addressVerb.MatchString(n.Value) {
			c.complain(n.Pos(), rulePointer, "Apply may not format an address")
		}
	case *ast.CallExpr:
		c.call(n)
	case *ast.BinaryExpr:
		if n.Op == token.MUL {
			c.product(n, n)
		}
	case *ast.AssignStmt:
		if n.Tok == token.MUL_ASSIGN {
			c.product(n, n.Lhs[0])
		}
	}
}

// order reports loops in the order of a map, or over a channel.
func (c *applyChecker) order(n *ast.RangeStmt) {
	for _, t := range underlying(c.info.TypeOf(n.X)) {
		switch t.(type) {
		case *types.Map:
			if n.Key != nil || n.Value != nil {
				c.complain(n.Pos(), ruleMap, "Apply may not use the order of a map")
			}
		case *types.Chan:
			c.complain(n.Pos(), ruleGo, "Apply may not use a channel")
		}
	}
}

// use reports names of packages that are not permitted, however they are imported.
func (c *applyChecker) use(name *ast.Ident) {
	object := c.info.Uses[name]
	if object == nil || object.Pkg() == nil {
		return
	}
	function, isFunction := object.(*types.Func)
	switch from := object.Pkg().Path(); from {
	case "time":
		if !slices.Contains(appliedTime, name.Name) {
			c.complain(name.Pos(), ruleTime, "Apply may not use time.%s", name.Name)
		}
	case "math":
		if isFunction && !slices.Contains(appliedMath, name.Name) {
			c.complain(name.Pos(), ruleMath,
				"math.%s has other results on other processors: use limitsrv/commands/scripts/lua/elementary", name.Name)
		}
	case "maps":
		if slices.Contains(mapOrder, name.Name) {
			c.complain(name.Pos(), ruleMap, "Apply may not use the order of maps.%s", name.Name)
		}
	case "sync", "sync/atomic":
		// Before each method stands a variable of a type.
		if !isFunction || from == "sync/atomic" && function.Signature().Recv() == nil {
			c.complain(name.Pos(), ruleSync, "Apply may not depend on %s.%s", path.Base(from), name.Name)
		}
	case "unsafe":
		c.complain(name.Pos(), rulePointer, "Apply may not use unsafe.%s", name.Name)
	}
}

// call reports conversions of floats to integers and texts of addresses, and notes conversions of
// products.
func (c *applyChecker) call(n *ast.CallExpr) {
	if f, ok := n.Fun.(*ast.SelectorExpr); ok && c.info.Uses[f.Sel] != nil && c.info.Uses[f.Sel].Pkg() != nil &&
		c.info.Uses[f.Sel].Pkg().Path() == "fmt" {
		for _, arg := range n.Args {
			if isAddress(c.info.TypeOf(arg)) {
				c.complain(arg.Pos(), rulePointer, "Apply may not format an address")
			}
		}
	}
	if len(n.Args) != 1 || !c.info.Types[n.Fun].IsType() {
		return
	}
	to, from := c.info.TypeOf(n.Fun), c.info.Types[n.Args[0]]
	switch {
	case is(to, types.IsFloat):
		c.rounded[ast.Unparen(n.Args[0])] = true
	case is(to, types.IsInteger) && is(from.Type, types.IsFloat) && from.Value == nil:
		c.complain(n.Pos(), ruleCast, "an integer of a float that may be out of range is another one on other processors")
	}
}

// isAddress reports whether package fmt shows a value of a type as an address.
func isAddress(t types.Type) bool {
	for _, name := range []string{"Error", "String"} {
		if method, _, _ := types.LookupFieldOrMethod(t, false, nil, name); method != nil {
			return false
		}
	}
	switch t.Underlying().(type) {
	case *types.Pointer, *types.Chan, *types.Signature:
		return true
	}
	return false
}

// product reports a product of floats that is not the operand of a conversion. Compilers fuse
// even products that are assigned, passed or returned before they are added.
func (c *applyChecker) product(n ast.Node, typed ast.Expr) {
	t := c.info.Types[typed]
	e, _ := n.(ast.Expr)
	if t.Value == nil && is(t.Type, types.IsFloat|types.IsComplex) && !c.rounded[e] {
		c.complain(n.Pos(), ruleProduct, "a product that may be fused with a sum: convert it, as in float64(a * b)")
	}
}

// is reports whether a type is basic and has one of the properties, or is a type parameter for
// basic types with them.
func is(t types.Type, properties types.BasicInfo) bool {
	return slices.ContainsFunc(underlying(t), func(t types.Type) bool {
		b, ok := t.(*types.Basic)
		return ok && b.Info()&properties != 0
	})
}

// underlying returns the underlying type of a type, or of those that a type parameter or a
// constraint stands for.
func underlying(t types.Type) (all []types.Type) {
	switch u := t.Underlying().(type) {
	case *types.Interface:
		for embedded := range u.EmbeddedTypes() {
			all = append(all, underlying(embedded)...)
		}
	case *types.Union:
		for term := range u.Terms() {
			all = append(all, underlying(term.Type())...)
		}
	default:
		all = append(all, u)
	}
	return all
}

// TestApplyIsWhereItIsChecked fails if a package that is not checked has code for a Tx, which only
// Apply makes.
func TestApplyIsWhereItIsChecked(t *testing.T) {
	checked := append(appliedPackages(), "internal/testing/simtest") // which has commands for tests
	err := walkSources(func(name string, source []byte) error {
		if !strings.HasSuffix(name, "_test.go") && bytes.Contains(source, []byte("*engine.Tx")) &&
			!slices.Contains(checked, path.Dir(name)) {
			t.Errorf("%s: runs within Apply, which %q do not reach", name, appliedRoots)
		}
		return nil
	}, ".go")
	if err != nil {
		t.Fatal(err)
	}
}

// TestApplyFindings plants violations in a package that Apply reaches.
func TestApplyFindings(t *testing.T) {
	planted := map[applyRule]bool{}
	for _, tt := range []struct {
		name, source string
		rule         applyRule // of all findings; ruleAll: no finding
	}{
		{"a calendar of durations", `import "time"; const d = 5 * time.Second`, ruleAll},
		{"a clock", `import "time"; var now = time.Now()`, ruleTime},
		{"a clock by another name", `import t "time"; var now = t.Now`, ruleTime},
		{"a clock without a name", `import . "time"; var now = Now()`, ruleTime},
		{"a channel", `func f(c chan int) { <-c }`, ruleGo},
		{"a zone", `import "time"; func f(n int64) int { return time.Unix(n, 0).Hour() }`, ruleTime},
		{"a goroutine", `func f() { go f() }`, ruleGo},
		{"a goroutine in a function of a variable", `var f = func() { go func() {}() }`, ruleGo},
		{"a choice", `func f(c chan int) { select { case <-c: default: } }`, ruleGo},
		{"a message", `func f(c chan int) { c <- 1 }`, ruleGo},
		{"messages", `func f(c chan int) { for range c { } }`, ruleGo},
		{"randomness", `import "math/rand/v2"; var n = rand.Int()`, ruleImport},
		{"the system", `import "os"; var n = os.Getpid()`, ruleImport},
		{"an import for its effects", `import _ "os"`, ruleImport},
		{"a name of another package", "import _ \"unsafe\"\n//go:linkname now time.now\nfunc now() (int64, int32, int64)",
			ruleImport},
		{"a lock", `import "sync"; var mu sync.Mutex`, ruleSync},
		{"a once", `import "sync"; var f = sync.OnceValue(func() int { return 1 })`, ruleAll},
		{"a counter", `import "sync/atomic"; var n atomic.Int64`, ruleSync},
		{"a counter by functions", `import "sync/atomic"; var n int64; func f() int64 { return atomic.AddInt64(&n, 1) }`,
			ruleSync},
		{"an order", `func f(m map[int]int) { for k := range m { _ = k } }`, ruleMap},
		{"an order of another type", `type t map[int]int; func f(m t) { for _, v := range m { _ = v } }`, ruleMap},
		{"an order of a type parameter", `func f[M map[int]int](m M) { for k := range m { _ = k } }`, ruleMap},
		{"an order by package maps", `import "maps"; func f(m map[int]int) { for k := range maps.Keys(m) { _ = k } }`,
			ruleMap},
		{"the number of elements", `func f(m map[int]int) { for range m { } }`, ruleAll},
		{"a copy of a map", `import "maps"; func f(m map[int]int) map[int]int { return maps.Clone(m) }`, ruleAll},
		{"a slice", `func f(s []int) { for k := range s { _ = k } }`, ruleAll},
		{"an address as text", `import "fmt"; func f(p *int) string { return fmt.Sprintf("%p", p) }`, rulePointer},
		{"an address with flags as text", `import "fmt"; func f(p *int) string { return fmt.Sprintf("%#20p", p) }`,
			rulePointer},
		{"an address as a value", `import "fmt"; func f(p *int) string { return fmt.Sprint(p) }`, rulePointer},
		{"a function as text", `import "fmt"; func f() string { return fmt.Sprintf("%v", f) }`, rulePointer},
		{"an error as text",
			`import "fmt"; type e int; func (*e) Error() string { return "" }; func f(p *e) string { return fmt.Sprint(p) }`,
			ruleAll},
		{"exp", `import "math"; func f(x float64) float64 { return math.Exp(x) }`, ruleMath},
		{"exp as a value", `import m "math"; var f = m.Exp`, ruleMath},
		{"a fused product", `import "math"; func f(x float64) float64 { return math.FMA(x, x, 1) }`, ruleMath},
		{"floor", `import "math"; func f(x float64) float64 { return math.Floor(x) + math.MaxInt8 }`, ruleAll},
		{"a product and a sum", `func f(x, y float64) float64 { return x*y + 1 }`, ruleProduct},
		{"a difference and a product", `func f(x, y float64) float64 { return 1 - (x * y) }`, ruleProduct},
		{"a sum of a product", `func f(x, y float64) float64 { x += x * y; return x }`, ruleProduct},
		{"a product in place", `func f(x, y float64) float64 { x *= y; return x + 1 }`, ruleProduct},
		{"a product of a type of floats", `type t float64; func f(x, y t) t { p := x * y; return p + 1 }`, ruleProduct},
		{"a product of a type parameter", `func f[T ~float64](x, y T) T { return x*y + 1 }`, ruleProduct},
		{"a product of short floats", `func f(x, y float32) float32 { return x*y + 1 }`, ruleProduct},
		{"a product of complex numbers", `func f(x, y complex128) complex128 { return x * y }`, ruleProduct},
		{"a converted product", `func f(x, y float64) float64 { return float64((x * y)) + 1 }`, ruleAll},
		{"a constant product", `func f(x float64) float64 { const y = 2.5; return x + y*3 }`, ruleAll},
		{"a product of integers", `func f(x, y int) int { return x*y + 1 }`, ruleAll},
		{"a cast", `func f(x float64) int { return int(x) }`, ruleCast},
		{"a cast to another type", `type t uint8; func f(x float32) t { return t(x) }`, ruleCast},
		{"a constant cast", `const x = 5.0; var n = int(x)`, ruleAll},
	} {
		planted[tt.rule] = true
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, "planted.go", "package p; "+tt.source, parser.ParseComments)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		found, err := findings(files, module+"/p", []*ast.File{file})
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		switch {
		case tt.rule == ruleAll && len(found) > 0:
			t.Errorf("%s: %s, want no finding", tt.name, &found[0])
		case tt.rule != ruleAll &&
			(len(found) == 0 || slices.ContainsFunc(found, func(f finding) bool { return f.rule != tt.rule })):
			t.Errorf("%s: %v, want findings of the rule %s", tt.name, found, tt.rule)
		case tt.rule != ruleAll && found[0].at.Filename != "planted.go":
			t.Errorf("%s: the finding is at %s", tt.name, found[0].at)
		}
	}
	for _, rule := range []applyRule{ruleImport, ruleTime, ruleGo, ruleSync, ruleMap, rulePointer, ruleMath, ruleProduct,
		ruleCast} {
		if !planted[rule] {
			t.Errorf("no violation of the rule %s is planted", rule)
		}
	}
}
