// Package yamlfile reads rulebook files strictly: a key that nobody asked for is a
// mistake, every value knows where it stands, and all mistakes are told at once with
// file, line, column and a caret. It knows files and layers, and nothing of rules; a file
// of tests is of no layer.
//
// Invariant: the same files give the same hash, and what Source gives is read back
// with it. A value's place is that of its first character in the file.
//
// Crash behaviour: there is no state to lose.
package yamlfile
