// Package casefile holds everything that is known of one runner, a Case, and derives
// what its records prove before any rule looks at it: which container is the runner's
// own, whose end ended it, the exit record, the time of death, and what was read of
// whom around it.
//
// Invariant: everything here is pure, and depends on nothing but what the records say:
// not on their number or the order in which they came. A claim never takes away what
// proven evidence says.
//
// Crash behaviour: there is no state to lose. A case is made anew from the evidence.
package casefile
