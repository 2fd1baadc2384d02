package webhook

// fifo is a queue whose zero value is empty.
type fifo[T any] struct {
	items []T
	head  int
}

func (q *fifo[T]) len() int { return len(q.items) - q.head }

func (q *fifo[T]) push(item T) { q.items = append(q.items, item) }

// pop removes the oldest item; ok is false when there is none.
func (q *fifo[T]) pop() (item T, ok bool) {
	var zero T
	if q.len() == 0 {
		return zero, false
	}
	item, q.items[q.head] = q.items[q.head], zero
	q.head++
	if q.head*2 >= len(q.items) {
		q.items = q.items[:copy(q.items, q.items[q.head:])]
		q.head = 0
	}
	return item, true
}
