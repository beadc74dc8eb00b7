package caseflags_test

import (
	"testing"

	"coroner/classify/docket"
	"coroner/cmd/caseflags"
	"coroner/cmd/helptext"
	"coroner/cmd/units"

	"github.com/alecthomas/kong"
)

type flags struct {
	caseflags.Cases
	caseflags.Retention
}

func parsed(t *testing.T, args ...string) *flags {
	t.Helper()
	var f flags
	k, err := kong.New(&f, helptext.Vars, caseflags.Vars(), units.Option())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Parse(args); err != nil {
		t.Fatal(err)
	}
	return &f
}

// Without flags the docket's own defaults hold, to the byte, and are fine.
func TestDefaults(t *testing.T) {
	f, d := parsed(t), docket.Defaults()
	if docket.Keep(f.Retention) != d.Keep || f.Settle != d.Settle || f.JobMost != d.JobWaitMost ||
		f.MaxOpen != d.MaxOpen {
		t.Errorf("%+v, want %+v", f, d)
	}
	if err := f.Cases.Check(); err != nil {
		t.Error(err)
	}
	if err := f.Retention.Check(); err != nil {
		t.Error(err)
	}
}

// All that no run could use is told at one time, in the order of the flags, each by its name;
// the least that one could is not.
func TestCheck(t *testing.T) {
	f := parsed(t, "--runner=ci/*", "--runner=[", "--settle-after=0s", "--job.wait=-1h", "--pool.silent-after=1ns",
		"--max-open-cases=0", "--retention.bytes=-1", "--retention.evidence=0s")
	for _, tt := range []struct {
		err  error
		want string
	}{
		{f.Cases.Check(), "--runner [: not a glob: syntax error in pattern\n" +
			"--settle-after 0s: want a time above zero\n--job.wait -1h0m0s: want a time above zero"},
		{f.Retention.Check(), "--retention.evidence 0s: want a time above zero\n" +
			"--retention.bytes -1: it cannot be below zero"},
	} {
		if tt.err == nil || tt.err.Error() != tt.want {
			t.Errorf("%v, want %s", tt.err, tt.want)
		}
	}
}
