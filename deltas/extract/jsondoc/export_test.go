package jsondoc

// MaxValues is shown to the tests of this package's behaviour.
const MaxValues = maxValues
