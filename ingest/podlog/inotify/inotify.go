// Package inotify tells of names that appear and disappear in directories of a tree,
// where the kernel is Linux.
//
// Invariant: the kernel adds a change to the queue before the system call that made it
// returns. So after Drain the Handler was told of everything that happened before in the
// directories that were added, or of an overflow.
//
// Crash behaviour: nothing is kept.
package inotify

// Handler is told what happened. Calls come from the goroutines of Run and Drain, one at a
// time.
type Handler interface {
	// Event: a name appeared or disappeared. name is relative to the root; "" is the
	// root itself.
	Event(name string, appeared bool)

	// Overflow: the kernel's queue was full, and events were lost.
	Overflow()
}
