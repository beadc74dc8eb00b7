// Package classify turns signals into cases and cases into verdicts: who is
// who (Roster), which evidence belongs to whom, what was read (coverage), and
// the one way through it all, Replay.
//
// Invariant: Replay is a function of the entries and the rulebook. Order,
// repetition and the way entries were batched do not change a verdict; what a
// job can print decides at most a probable one.
//
// Crash behaviour: Replay keeps everything in memory and owns nothing outside
// it; a caller that dies starts again from its input.
package classify
