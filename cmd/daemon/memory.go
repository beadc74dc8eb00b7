package daemon

import (
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// LimitMemory keeps the process under so many bytes; 0: what its container may
// have, else the usual. Go's own part is told to the runtime, which collects garbage
// sooner when it comes near; where the environment has GOMEMLIMIT, that counts. It
// returns the whole.
func LimitMemory(bytes, usual int64) int64 {
	if bytes == 0 {
		bytes = usual
		if n, err := memlimit.FromCgroup(); err == nil && n > 0 && n < math.MaxInt64 {
			bytes = int64(n)
		}
	}
	AimAtMemory(bytes / 10 * goPart)
	return bytes
}

// AimAtMemory tells Go how many bytes it should stay under, unless the environment does.
func AimAtMemory(bytes int64) {
	if !memoryIsGiven() {
		debug.SetMemoryLimit(bytes)
	}
}

func memoryIsGiven() bool { return os.Getenv("GOMEMLIMIT") != "" }

// CollectAt says how much garbage there may be, in percent of what is in use, unless the
// environment does.
func CollectAt(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// goPart is Go's part of the memory in tenths. The ledger's pages, and those of the
// program's file, are not Go's.
const goPart = 7

// RaiseMemoryLimit raises the limit of Go's memory where more is in use than the collector can
// stay under, until stop is called: else it would take half of the processor's time for nothing.
// It is not for a server, whose limit is its container's, nor over a limit of the environment's.
func RaiseMemoryLimit() (stop func()) {
	if memoryIsGiven() {
		return func() {}
	}
	ticker, done := time.NewTicker(100*time.Millisecond), make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				raiseOnce()
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(done)
	}
}

func raiseOnce() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	limit := debug.SetMemoryLimit(-1)
	if needed := raisedLimit(limit, int64(live[0].Value.Uint64())); needed > limit {
		debug.SetMemoryLimit(needed)
	}
}

// raisedLimit leaves the collector half of what is in use to work with.
func raisedLimit(limit, live int64) int64 { return max(limit, live/2*3) }
