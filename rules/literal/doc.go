// Package literal finds many fixed texts in a buffer at one look per four bytes, and
// works out which fixed texts a regular expression cannot match without. Most of a log
// is passed over with it.
//
// Invariant: no occurrence of a text is missed, whatever stands around it. What Required
// gives for an expression is in every string that it matches.
//
// Crash behaviour: there is no state to lose. A finder does not change once it is made.
package literal
