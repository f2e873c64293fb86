package scripts

import "limitsrv/commands/scripts/lua/syntax"

// A walker visits a tree, functions within included.
type walker struct {
	statement func(syntax.Statement)
	expr      func(syntax.Expr) (within bool) // within: visit the parts too
}

func (w *walker) block(b *syntax.Block) {
	for _, s := range b.Statements {
		w.statement(s)
		w.parts(s)
	}
}

// parts visits the parts of a statement.
func (w *walker) parts(s syntax.Statement) {
	switch s := s.(type) {
	case *syntax.LocalStatement:
		w.all(s.Values)
	case *syntax.LocalFunction:
		w.block(s.Function.Body)
	case *syntax.Assign:
		w.all(s.Targets)
		w.all(s.Values)
	case *syntax.CallStatement:
		w.one(s.Call)
	case *syntax.Do:
		w.block(s.Body)
	case *syntax.While:
		w.one(s.Cond)
		w.block(s.Body)
	case *syntax.Repeat:
		w.block(s.Body)
		w.one(s.Cond)
	case *syntax.If:
		w.all(s.Conds)
		for _, b := range s.Blocks {
			w.block(b)
		}
	case *syntax.NumericFor:
		w.all([]syntax.Expr{s.From, s.Limit, s.Step})
		w.block(s.Body)
	case *syntax.GenericFor:
		w.all(s.Values)
		w.block(s.Body)
	case *syntax.Return:
		w.all(s.Values)
	}
}

func (w *walker) all(list []syntax.Expr) {
	for _, e := range list {
		w.one(e)
	}
}

// one visits an expression, which may be nil.
func (w *walker) one(e syntax.Expr) {
	if e == nil || !w.expr(e) {
		return
	}
	switch e := e.(type) {
	case *syntax.FunctionExpr:
		w.block(e.Function.Body)
	case *syntax.IndexExpr:
		w.one(e.Object)
		w.one(e.Key)
	case *syntax.CallExpr:
		w.one(e.Callee)
		w.all(e.Args)
	case *syntax.Binary:
		w.one(e.Left)
		w.one(e.Right)
	case *syntax.Concat:
		w.all(e.Operands)
	case *syntax.Logic:
		w.one(e.Left)
		w.one(e.Right)
	case *syntax.Unary:
		w.one(e.Operand)
	case *syntax.Paren:
		w.one(e.Inner)
	case *syntax.TableExpr:
		for _, f := range e.Fields {
			w.one(f.Key)
			w.one(f.Value)
		}
	}
}
