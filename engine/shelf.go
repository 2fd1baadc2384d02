package engine

import "github.com/seed-91e7e7c1/corona/channel"

// Shelf keeps a value for each of some channels on disk, for this node's owner: see
// [store.Shelf]. Failures are counted and logged; after [Engine.Close] it is empty.
type Shelf struct{ e *Engine }

// Shelf returns the engine's shelf.
func (e *Engine) Shelf() Shelf { return Shelf{e} }

// Put replaces the value of a channel.
func (s Shelf) Put(id channel.ID, value []byte) {
	if s.e.enter() {
		defer s.e.asking.RUnlock()
		s.e.cache.Failed("keep a content for the owner", s.e.cache.Shelf().Put(id, value))
	}
}

// Get returns the value of a channel, the caller's; nil: there is none.
func (s Shelf) Get(id channel.ID) []byte {
	if !s.e.enter() {
		return nil
	}
	defer s.e.asking.RUnlock()
	value, err := s.e.cache.Shelf().Get(id)
	s.e.cache.Failed("read a content for the owner", err)
	return value
}

// Remove removes the values of channels.
func (s Shelf) Remove(ids ...channel.ID) {
	if s.e.enter() {
		defer s.e.asking.RUnlock()
		s.e.cache.Failed("remove contents of the owner", s.e.cache.Shelf().Remove(ids...))
	}
}

// Clear removes the values of all channels of a range.
func (s Shelf) Clear(r channel.Range) {
	if s.e.enter() {
		defer s.e.asking.RUnlock()
		s.e.cache.Failed("remove contents of a range", s.e.cache.Shelf().Clear(r))
	}
}
