//go:build !linux || !cgo || nojournal

package journal

import (
	"context"
	"errors"
)

// errNoJournal is all that a build without libsystemd can say.
var errNoJournal = errors.New("this build has no journal support (needs Linux and cgo)")

// Run returns an error: the journal is read through libsystemd, which this
// build cannot call.
func (r *Reader) Run(context.Context, func(Batch) error) error { return errNoJournal }
