//go:build !linux

package inotify

import "errors"

// Tree is not available here.
type Tree struct{}

// New returns errors.ErrUnsupported.
func New(string, Handler) (*Tree, error) { return nil, errors.ErrUnsupported }

// Run does nothing.
func (*Tree) Run() {}

// Drain does nothing.
func (*Tree) Drain() {}

// Close does nothing.
func (*Tree) Close() {}

// Add does nothing.
func (*Tree) Add(string) error { return nil }

// Remove does nothing.
func (*Tree) Remove(string) {}
