// Package rules says which signals together are which cause of death. A Rulebook is
// read from YAML and compiled once; Judge turns a case into a verdict by it. What a line
// means is in package signal, what a case's records prove in casefile, and how a file
// is read in yamlfile.
//
// Invariant: everything here is pure. No file, network, clock, goroutine or
// logger is touched; the same entries and the same rulebook give the same
// verdict, in any order and however often they are delivered. Rules never see
// more of a log line than the values that a signal captured from it.
//
// Crash behaviour: there is no state to lose. A rulebook that does not compile
// is rejected whole at load, with file, line, column and a caret.
package rules
