package value

// A Kind is a type of Lua.
type Kind uint8

// The kinds, in the order of Lua's own numbers.
const (
	NilKind Kind = iota
	BooleanKind
	NullKind
	NumberKind
	StringKind
	TableKind
	FunctionKind
)

var kindNames = [...]string{"nil", "boolean", "userdata", "number", "string", "table", "function"}

// String returns the name of the type as the function type does.
func (k Kind) String() string { return kindNames[k] }
