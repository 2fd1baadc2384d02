//go:build !planted

// Package planted puts known bugs into the program, so that tests can show that they
// would catch them. A program built as usual has none. Under the build tag "planted" it
// has the one whose number the environment variable CORONA_PLANTED_BUG holds.
//
// docs/planted-bugs.md lists the bugs, where they are, and what catches them.
package planted

// Bug reports whether the program has a bug, by its number.
func Bug(int) bool { return false }
