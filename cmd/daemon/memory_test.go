package daemon

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
)

// Go is told its part, unless the environment says what it may have.
func TestLimitMemory(t *testing.T) {
	before := debug.SetMemoryLimit(math.MaxInt64)
	defer debug.SetMemoryLimit(before)
	t.Setenv("GOMEMLIMIT", "")
	if got := LimitMemory(1000, 500); got != 1000 || debug.SetMemoryLimit(-1) != 700 {
		t.Errorf("%d, of which Go may have %d", got, debug.SetMemoryLimit(-1))
	}
	if got := LimitMemory(0, 500); got < 500 || debug.SetMemoryLimit(-1) != got/10*goPart {
		t.Errorf("%d, of which Go may have %d", got, debug.SetMemoryLimit(-1))
	}
	debug.SetMemoryLimit(12345)
	t.Setenv("GOMEMLIMIT", "12345")
	LimitMemory(1000, 500)
	AimAtMemory(500)
	RaiseMemoryLimit()()
	if got := debug.SetMemoryLimit(-1); got != 12345 {
		t.Errorf("Go may have %d", got)
	}
}

// What the environment says of garbage counts.
func TestCollectAt(t *testing.T) {
	before := debug.SetGCPercent(111)
	defer debug.SetGCPercent(before)
	for said, want := range map[string]int{"": 50, "111": 111, "off": 111} {
		debug.SetGCPercent(111)
		t.Setenv("GOGC", said)
		if CollectAt(50); debug.SetGCPercent(111) != want {
			t.Errorf("GOGC=%s: not %d percent", said, want)
		}
	}
}

// What is in use raises the limit, and nothing lowers it.
func TestRaiseMemoryLimit(t *testing.T) {
	before := debug.SetMemoryLimit(1 << 20)
	defer debug.SetMemoryLimit(before)
	held := make([]byte, 32<<20)
	runtime.GC()
	raiseOnce()
	raiseOnce()
	if got := debug.SetMemoryLimit(-1); got < int64(len(held))*3/2 || got > int64(len(held))*10 {
		t.Errorf("Go may have %d MiB", got>>20)
	}
	debug.SetMemoryLimit(math.MaxInt64)
	if raiseOnce(); debug.SetMemoryLimit(-1) != math.MaxInt64 {
		t.Error("the limit was lowered")
	}
	runtime.KeepAlive(held)
}
