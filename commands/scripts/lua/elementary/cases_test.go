package elementary

import (
	"math"
	"math/rand/v2"
)

// A tested function has an argument or two.
type tested struct {
	name string
	one  func(x float64) float64
	two  func(x, y float64) float64
	// ranges are the bounds of random arguments, beside arguments of any exponent.
	ranges []float64
}

var functions = []tested{
	{name: "exp", one: Exp, ranges: []float64{0.01, 1, 30, 760}},
	{name: "log", one: Log, ranges: []float64{1, 2, 1000}},
	{name: "log10", one: Log10, ranges: []float64{1, 2, 1000}},
	{name: "sin", one: Sin, ranges: []float64{0.02, 1, 10, 1e6}},
	{name: "cos", one: Cos, ranges: []float64{0.02, 1, 10, 1e6}},
	{name: "tan", one: Tan, ranges: []float64{0.02, 1, 10, 1e6}},
	{name: "asin", one: Asin, ranges: []float64{0.01, 1, 1.01}},
	{name: "acos", one: Acos, ranges: []float64{0.01, 1, 1.01}},
	{name: "atan", one: Atan, ranges: []float64{0.01, 1, 5, 1e6}},
	{name: "sinh", one: Sinh, ranges: []float64{0.25, 1, 25, 712}},
	{name: "cosh", one: Cosh, ranges: []float64{0.25, 1, 25, 712}},
	{name: "tanh", one: Tanh, ranges: []float64{0.25, 1, 25}},
	{name: "pow", two: Pow, ranges: []float64{2, 20, 1000}},
	{name: "atan2", two: Atan2, ranges: []float64{0.01, 1, 1000}},
}

func (f *tested) call(x, y float64) float64 {
	if f.one != nil {
		return f.one(x)
	}
	return f.two(x, y)
}

// specials are arguments where functions change their course.
var specials = []float64{
	0, 5e-324, 0x1p-1022, 0x1p-60, 0x1p-54, 0x1p-28, 0x1.fffffffffffffp-29, 0x1p-7, 0.25, 1.0 / 3, 0.5, math.Pi / 4,
	0x1.921fb54442d19p-1, 0x1.fffffffffffffp-1,
	1, 0x1.0000000000001p0, math.Sqrt2, 1.5, math.Pi / 2, 2, 3, math.Pi, 10, 22, 0x1.6000000000001p4, 100, 1000, 0x1p31,
	0x1p53 - 1, 0x1p53, 0x1p60, 1e15, 1e22,
	709.782712893384, 709.7827128933841, 710, 710.4758600739439, 710.475860073944, 745.1332191019411, 745.1332191019412,
	746, 708.3964185322641,
	6381956970095103 * 0x1p797, // the double that is nearest to a multiple of pi/2
	math.MaxFloat64, math.Inf(1),
}

// each calls do with arguments for a function, n of them random. They are the same on all
// machines.
func (f *tested) each(n int, do func(x, y float64)) {
	signs := []float64{1, -1}
	for _, x := range append([]float64{math.NaN()}, specials...) {
		for _, sign := range signs {
			if f.one != nil {
				do(sign*x, 0)
				continue
			}
			for _, y := range []float64{0, 1, 3, 0.5, 0x1p53 - 1, 0x1p53, 1e300, 5e-324, math.Inf(1), math.NaN()} {
				do(sign*x, y)
				do(sign*x, -y)
			}
		}
	}
	r := rand.New(rand.NewPCG(20, uint64(len(f.name)))) // of fixed seeds
	random := func(i int) float64 {
		if i%4 == 0 {
			return math.Float64frombits(r.Uint64())
		}
		return float64((float64(r.Float64()*2) - 1) * f.ranges[i%len(f.ranges)])
	}
	for i := range n {
		x, y := random(i), 0.0
		if f.two != nil {
			y = random(i + i/4%2)
			if f.name == "pow" && i%3 > 0 {
				x = math.Abs(x)
			}
			if i%5 == 0 {
				y = math.Trunc(y)
			}
		}
		do(x, y)
	}
}
