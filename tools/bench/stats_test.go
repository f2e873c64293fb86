package main

import (
	"slices"
	"testing"
)

func TestFigureOf(t *testing.T) {
	for _, tt := range []struct {
		name   string
		rounds []float64
		want   figure
	}{
		{"is zero without rounds", nil, figure{}},
		{"is the only round", []float64{3}, figure{3, 0}},
		{"is the middle round, in any order", []float64{9, 1, 4}, figure{4, 1}},
		{"is between the two middle rounds", []float64{8, 2, 4, 6}, figure{5, 0.6}},
	} {
		if got := figureOf(tt.rounds); got != tt.want {
			t.Errorf("%s: figureOf(%v) = %+v, want %+v", tt.name, tt.rounds, got, tt.want)
		}
	}
}

func TestRatiosPairRounds(t *testing.T) {
	got := ratios([]float64{10, 6, 5, 1}, []float64{5, 2, 0})
	if want := []float64{2, 3}; !slices.Equal(got, want) {
		t.Errorf("ratios = %v, want %v: round by round, without missing rounds", got, want)
	}
}
