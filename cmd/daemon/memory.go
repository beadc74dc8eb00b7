package daemon

import (
	"math"
	"os"
	"runtime/debug"

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
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(bytes / 10 * goPart)
	}
	return bytes
}

// goPart is Go's part of the memory in tenths. The ledger's pages, and those of the
// program's file, are not Go's.
const goPart = 7
