package mcp

import "coroner/ingest"

// trustOf says how far the text of a source can be trusted.
func trustOf(source string) string {
	switch s := ingest.Source(source); {
	case s.Host():
		return "written by the node"
	case s == ingest.Kube:
		return "told by the Kubernetes API; whoever may create events can write one"
	case s == ingest.GitHub || s == ingest.Agent:
		return "recorded by coroner"
	case s == ingest.Controller || s == ingest.Listener:
		return "written by the controller"
	}
	return "a claim: a job can write this"
}
