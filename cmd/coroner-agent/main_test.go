package main

import (
	"runtime/debug"
	"testing"
)

// How much garbage there may be is the environment's to say.
func TestCollect(t *testing.T) {
	before := debug.SetGCPercent(77)
	defer debug.SetGCPercent(before)
	t.Setenv("GOGC", "77")
	collect(50)
	if got := debug.SetGCPercent(77); got != 77 {
		t.Errorf("%d %%", got)
	}
	t.Setenv("GOGC", "")
	collect(50)
	if got := debug.SetGCPercent(77); got != 50 {
		t.Errorf("%d %%", got)
	}
}
