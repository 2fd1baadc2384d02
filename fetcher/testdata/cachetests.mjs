// Runs tests of http-cache-tests against a cache, with node's own fetch:
//
//   node cachetests.mjs PACKAGE BASE NAME...
//
// PACKAGE is where the package was unpacked, BASE the cache's URL, NAME the ID of a
// suite, for all its tests that concern a private cache, or of a test. Prints the IDs
// of all suites and, by ID, the results of the tests that ran: true, or what failed.
import { pathToFileURL } from 'node:url'

const [directory, base, ...names] = process.argv.slice(2)
const at = pathToFileURL(directory + '/')
const { runTests, getResults } = await import(new URL('client/runner.mjs', at))
const { default: all } = await import(new URL('tests/index.mjs', at))

// browser_skip marks what is not asked of a private cache: the rules of shared
// ones, and answers to conditions of a client's own. browser_only marks the rules
// of private ones, which the runner would leave out.
const chosen = all.map(suite => ({
  ...suite,
  tests: suite.tests
    .filter(test => names.includes(test.id) || names.includes(suite.id) && test.browser_skip !== true)
    .map(test => ({ ...test, browser_only: false }))
}))
await runTests(chosen, fetch, false, base, 1000) // all at a time: most of it is waiting
console.log(JSON.stringify({ suites: all.map(suite => suite.id), results: getResults() }))
