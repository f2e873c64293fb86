package syntax

// A Function is the main chunk or the body of a function.
type Function struct {
	Chunk      string // name of the chunk, as errors show it
	Line       int    // where it is defined; 0: the main chunk
	Params     []*Local
	Vararg     bool
	Arg        *Local // the variable "arg" of a vararg function, or nil for the main chunk
	UsesVararg bool   // else Arg is a table of the arguments after Params, with n
	Upvalues   []Upvalue
	Captures   bool // some of its locals are captured
	Slots      int  // of its locals
	Body       *Block
	// NativeDiffers is set in a main function if ParseNative computes another value than Parse for
	// a power of constants.
	NativeDiffers bool
}

// A Local is a local variable. Those in scope at once have different slots.
type Local struct {
	Name     string
	Slot     int
	Captured bool // by a function inside of its own
}

// An Upvalue is a captured variable of an enclosing function: Local if it belongs to the
// nearest enclosing function, else the upvalue Index of that function.
type Upvalue struct {
	Name  string
	Local *Local
	Index int
}

// A Block is a sequence of statements with a scope of its own.
type Block struct{ Statements []Statement }

// A Statement is one of the types below.
type Statement interface{ statement() }

type (
	// LocalStatement declares variables.
	LocalStatement struct {
		Locals []*Local
		Values []Expr
	}
	// LocalFunction declares a variable that its function can see.
	LocalFunction struct {
		Local    *Local
		Function *Function
	}
	// Assign assigns to variables: *LocalExpr, *UpvalueExpr, *GlobalExpr or *IndexExpr.
	Assign struct {
		Targets []Expr
		Values  []Expr
		Line    int
	}
	// CallStatement drops the results of a call.
	CallStatement struct{ Call *CallExpr }
	// Do is a block.
	Do struct{ Body *Block }
	// While is a loop.
	While struct {
		Cond Expr
		Body *Block
	}
	// Repeat is a loop; Cond sees the variables of Body.
	Repeat struct {
		Body *Block
		Cond Expr
	}
	// If has as many Blocks as Conds, or an additional Block.
	If struct {
		Conds  []Expr
		Blocks []*Block
	}
	// NumericFor counts; Step may be nil.
	NumericFor struct {
		Local             *Local
		From, Limit, Step Expr
		Body              *Block
		Line              int
	}
	// GenericFor calls an iterator.
	GenericFor struct {
		Locals []*Local
		Values []Expr
		Body   *Block
		Line   int
	}
	// Return ends the function.
	Return struct{ Values []Expr }
	// Break ends the innermost loop.
	Break struct{}
)

func (*LocalStatement) statement() {}
func (*LocalFunction) statement()  {}
func (*Assign) statement()         {}
func (*CallStatement) statement()  {}
func (*Do) statement()             {}
func (*While) statement()          {}
func (*Repeat) statement()         {}
func (*If) statement()             {}
func (*NumericFor) statement()     {}
func (*GenericFor) statement()     {}
func (*Return) statement()         {}
func (*Break) statement()          {}

// An Expr is one of the types below. Line is the line of its last token unless stated
// otherwise: errors name it.
type Expr interface{ expr() }

type (
	// Nil is nil.
	Nil struct{}
	// Bool is true or false.
	Bool struct{ Value bool }
	// Number is a constant, perhaps of an expression of constants.
	Number struct{ Value float64 }
	// String is a constant.
	String struct{ Value string }
	// Vararg is ... .
	Vararg struct{}
	// FunctionExpr makes a function.
	FunctionExpr struct{ Function *Function }
	// LocalExpr is a variable of the function itself.
	LocalExpr struct{ Local *Local }
	// UpvalueExpr is a variable of an enclosing function.
	UpvalueExpr struct {
		Index int
		Name  string
	}
	// GlobalExpr is a global variable.
	GlobalExpr struct {
		Name string
		Line int
	}
	// IndexExpr is Object[Key].
	IndexExpr struct {
		Object, Key Expr
		Line        int
	}
	// CallExpr calls Callee, or the method Method of it. Line is the line of the arguments'
	// first token.
	CallExpr struct {
		Callee Expr
		Method string
		Args   []Expr
		Line   int
	}
	// Binary is an operation, except and and or.
	Binary struct {
		Op          Op
		Left, Right Expr
		Line        int
	}
	// Concat joins two operands or more.
	Concat struct {
		Operands []Expr
		Line     int
	}
	// Logic is and or or.
	Logic struct {
		And         bool
		Left, Right Expr
	}
	// Unary is an operation.
	Unary struct {
		Op      Op
		Operand Expr
		Line    int
	}
	// Paren cuts several values to the first.
	Paren struct{ Inner Expr }
	// TableExpr makes a table. Fields without a key are list elements.
	TableExpr struct {
		Fields []Field
		Line   int
	}
)

// A Field is an entry of a table constructor. Key is nil for a list element.
type Field struct {
	Key, Value Expr
	Line       int
}

func (*Nil) expr()          {}
func (*Bool) expr()         {}
func (*Number) expr()       {}
func (*String) expr()       {}
func (*Vararg) expr()       {}
func (*FunctionExpr) expr() {}
func (*LocalExpr) expr()    {}
func (*UpvalueExpr) expr()  {}
func (*GlobalExpr) expr()   {}
func (*IndexExpr) expr()    {}
func (*CallExpr) expr()     {}
func (*Binary) expr()       {}
func (*Concat) expr()       {}
func (*Logic) expr()        {}
func (*Unary) expr()        {}
func (*Paren) expr()        {}
func (*TableExpr) expr()    {}

// An Op is an operator.
type Op uint8

// The operators. And, Or and OpConcat occur in the parser only.
const (
	Add Op = iota
	Sub
	Mul
	Div
	Mod
	Pow
	OpConcat
	Equal
	NotEqual
	Less
	LessEqual
	Greater
	GreaterEqual
	And
	Or
	Negate
	Not
	Length
	noOp
)
