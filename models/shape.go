package models

import "iter"

// Shape is what the text of a query depends on: which parts it has, and not their values. An engine builds the text of
// each shape once.
type Shape struct{ Email, Contains, After, Descending bool }

// Shape returns the shape of a query.
func (q Query) Shape() Shape {
	return Shape{Email: q.Email != nil, Contains: q.Contains != "", After: q.After != nil, Descending: q.Descending}
}

// Shapes yields every shape.
func Shapes() iter.Seq[Shape] {
	return func(yield func(Shape) bool) {
		for parts := range 1 << 4 {
			has := func(bit int) bool { return parts&(1<<bit) != 0 }
			if !yield(Shape{Email: has(0), Contains: has(1), After: has(2), Descending: has(3)}) {
				return
			}
		}
	}
}
