package schedule

// fifo is a queue that gives its memory back as it drains.
type fifo[T any] struct {
	items []T
	head  int
}

func (f *fifo[T]) len() int { return len(f.items) - f.head }

func (f *fifo[T]) push(item T) { f.items = append(f.items, item) }

// next returns the oldest items, at most so many. They are the queue's own.
func (f *fifo[T]) next(most int) []T { return f.items[f.head:][:min(f.len(), most)] }

// peek returns the oldest item; ok is false when there is none.
func (f *fifo[T]) peek() (item T, ok bool) {
	if f.len() == 0 {
		return item, false
	}
	return f.items[f.head], true
}

func (f *fifo[T]) pop() (item T, ok bool) {
	item, ok = f.peek()
	if !ok {
		return item, false
	}
	var zero T
	f.items[f.head] = zero
	f.head++
	if f.head > 1024 && f.head > len(f.items)/2 {
		f.items, f.head = append([]T(nil), f.items[f.head:]...), 0
	} else if f.head == len(f.items) {
		f.items, f.head = f.items[:0], 0
	}
	return item, true
}
