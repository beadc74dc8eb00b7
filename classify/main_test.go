package classify_test

import (
	"flag"
	"os"
	"runtime/debug"
	"testing"
)

// What a test judges is garbage soon after, and little is kept: to look for it as often as
// Go does by itself took a quarter of the time. Benchmarks are left as they are.
func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.bench").Value.String() == "" {
		debug.SetGCPercent(300)
	}
	os.Exit(m.Run())
}
