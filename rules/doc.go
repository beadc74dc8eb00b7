// Package rules holds what coroner knows: which log lines mean something
// (signals), and which combination of them is which cause of death (verdict
// rules). A Rulebook is read from YAML, compiled once, and then does two
// things: Scan turns an entry into signals, Judge turns a case into a verdict.
//
// Invariant: everything here is pure. No file, network, clock, goroutine or
// logger is touched; the same entries and the same rulebook give the same
// verdict, in any order and however often they are delivered. Rules never see
// more of a log line than the values that a signal captured from it.
//
// Crash behaviour: there is no state to lose. A rulebook that does not compile
// is rejected whole at load, with file, line, column and a caret.
package rules
