package syntax

// Describe returns how errors name the value of an expression: by kind and name, or two
// empty strings.
func Describe(e Expr) (kind, name string) {
	switch e := e.(type) {
	case *LocalExpr:
		return "local", e.Local.Name
	case *UpvalueExpr:
		return "upvalue", e.Name
	case *GlobalExpr:
		return "global", e.Name
	case *IndexExpr:
		if key, ok := e.Key.(*String); ok {
			return "field", key.Value
		}
		return "field", "?"
	case *Logic:
		if truth, ok := alwaysTruth(e.Left); ok && truth == e.And {
			return Describe(strip(e.Right))
		}
	}
	return "", ""
}

// alwaysTruth returns the truth of an expression that has the same with all values, like x
// and nil.
func alwaysTruth(e Expr) (truth, ok bool) {
	e = strip(e)
	logic, isLogic := e.(*Logic)
	if !isLogic {
		return truthOf(e)
	}
	truth, ok = alwaysTruth(logic.Right)
	if ok && truth == logic.And {
		left, known := alwaysTruth(logic.Left)
		return truth, known && left == truth
	}
	return truth, ok
}
