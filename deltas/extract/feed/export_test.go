package feed

// What the tests of this package's behaviour measure it by.
const (
	Day           = day
	MaxHint       = maxHint
	MaxElements   = maxElements
	MaxNamespaces = maxNamespaces
)

var (
	ReadPlain = readPlain
	ParseFeed = parseFeed
	MendXML   = mendXML
)
