package primary

// rows gives channels their rows in the optimiser's columns. A row that a channel
// has left is cleared there before another gets it.
type rows struct {
	n     int32 // below it rows have been given
	left  []int32
	clear []int32
}

func (r *rows) take() int32 {
	if n := len(r.clear); n > 0 {
		row := r.clear[n-1]
		r.clear = r.clear[:n-1]
		return row
	}
	r.n++
	return r.n - 1
}

func (r *rows) leave(row int32) { r.left = append(r.left, row) }

// cleared returns the rows that were left, which the caller clears at once.
func (r *rows) cleared() []int32 {
	left := r.left
	r.clear, r.left = append(r.clear, left...), nil
	return left
}
