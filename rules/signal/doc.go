// Package signal says what a single line means. A Book is read from the sections
// signals, words, symptoms and secrets of rulebook files; its Scan turns an entry into
// signals, named facts with typed captures, and takes the secrets out of it.
//
// Invariant: everything here is pure. The same entry and the same book give the same
// signals. A line that shows no signal costs no allocation, and no line costs more than
// its length allows. What a job can print gives claims only.
//
// Crash behaviour: there is no state to lose. A book that does not compile is rejected
// whole when it is loaded, with file, line, column and a caret.
package signal
