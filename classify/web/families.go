package web

import (
	"slices"

	"coroner/rules"
)

// A label's colour is its family's: eyes tell eight colours apart, not thirty-five. What a
// family is, the style sheet says; a label that a rulebook adds has the colour of unknown.
var families = map[rules.Label]string{
	rules.HostTeardown: "host", rules.NodeCrash: "host", rules.NodeLost: "host", rules.NodeShutdown: "host",
	rules.HardwareFailure: "host", rules.NetworkLoss: "host", rules.ResourceExhaustion: "host",

	rules.CgroupOOM: "memory", rules.GuestOOM: "memory", rules.ChildOOM: "memory", rules.NodeOOM: "memory",

	rules.SIGTERMDrain: "asked", rules.ForceDeleted: "asked", rules.Evicted: "asked", rules.DeadlineExceeded: "asked",
	rules.JobCancelled: "asked",

	rules.CleanHandshakeFailure: "runner", rules.RunnerCrash: "runner", rules.RegistrationFailure: "runner",
	rules.RateLimited: "runner", rules.WorkdirContaminated: "runner",

	rules.ImagePullFailure: "start", rules.Unschedulable: "start", rules.SandboxFailure: "start",
	rules.NeverStarted: "start", rules.NeverRan: "start",

	rules.Zombie: "lasting", rules.Stranded: "lasting", rules.PoolBlocked: "lasting", rules.ListenerDown: "lasting",

	rules.Completed: "well", rules.IdleRemoved: "well", rules.RunnerUpdated: "well",
}

// familyOrder is that of a bar's parts, from the bottom.
var familyOrder = []string{"host", "memory", "asked", "runner", "start", "lasting", "well", "unknown"}

func familyOf(l rules.Label) string {
	if f := families[l]; f != "" {
		return f
	}
	return "unknown"
}

func familyRank(l rules.Label) int { return slices.Index(familyOrder, familyOf(l)) }
