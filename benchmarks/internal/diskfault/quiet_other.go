//go:build !linux

package diskfault

// quiet does nothing where there is no strace.
func (t *Tracer) quiet() (goOn func()) { return func() {} }
