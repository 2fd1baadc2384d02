package fetcher

import "container/list"

// lru is a map that holds at most a number of entries: beyond it, the one that has
// not been used for longest goes. Its owner guards it.
type lru[V any] struct {
	most    int
	entries map[string]*list.Element // of order
	order   list.List                // of lruEntry[V], those used last first
}

type lruEntry[V any] struct {
	key   string
	value V
}

func newLRU[V any](most int) *lru[V] {
	return &lru[V]{most: most, entries: make(map[string]*list.Element)}
}

// get returns the value of a key, and the zero value when there is none.
func (l *lru[V]) get(key string) (value V, ok bool) {
	e := l.entries[key]
	if e == nil {
		return value, false
	}
	l.order.MoveToFront(e)
	return e.Value.(lruEntry[V]).value, true
}

func (l *lru[V]) put(key string, value V) {
	if e := l.entries[key]; e != nil {
		e.Value = lruEntry[V]{key, value}
		l.order.MoveToFront(e)
		return
	}
	if len(l.entries) == l.most {
		l.remove(l.order.Back().Value.(lruEntry[V]).key)
	}
	l.entries[key] = l.order.PushFront(lruEntry[V]{key, value})
}

func (l *lru[V]) remove(key string) {
	if e := l.entries[key]; e != nil {
		l.order.Remove(e)
		delete(l.entries, key)
	}
}
