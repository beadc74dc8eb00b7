package collect

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// journal saves what a node's kubelet hands out of the journal, else tells how to get it by hand.
func (c *Collector) journal(ctx context.Context, node string) error {
	what := "the journal of the node " + node
	query := url.Values{"query": {"kubelet", "containerd"}, "sinceTime": {c.since().Format(time.RFC3339)}}
	data, cut, err := c.API.get(ctx, "/api/v1/nodes/"+node+"/proxy/logs/", query)
	if err == nil && isListing(data) {
		err = fmt.Errorf("the kubelet lists files instead (its option enableSystemLogQuery is off)")
	}
	if err != nil {
		c.Note(what + ": " + err.Error() + "; by hand, in the bundle's folder: " + c.journalByHand(node))
		return nil
	}
	if cut {
		c.Note(fmt.Sprintf("%s: what is behind its first %d MiB", what, maxAnswer>>20))
	}
	return c.put("node-"+node+"-journal.log", data)
}

// isListing says whether an answer is the page of a folder's files. A kubelet that knows no
// queries ignores one, and answers with that.
func isListing(data []byte) bool {
	data = bytes.ToLower(data[:min(len(data), 32)])
	return bytes.HasPrefix(data, []byte("<!doctype html")) || bytes.HasPrefix(data, []byte("<pre>"))
}

// journalByHand is the command that has a node's whole journal of the time, the kernel's lines
// and all units'. journalctl waits for a line, for what is written before kubectl is attached
// could be lost. The caller has seen that the node's name is plain.
func (c *Collector) journalByHand(node string) string {
	const form = "2006-01-02 15:04:05 UTC"
	kubectl := "kubectl"
	if c.Cluster.Kubeconfig != "" {
		kubectl += " --kubeconfig " + inShell(c.Cluster.Kubeconfig)
	}
	if c.Cluster.Context != "" {
		kubectl += " --context " + inShell(c.Cluster.Context)
	}
	return fmt.Sprintf(`echo | %s debug node/%s -q -i --image=busybox --profile=sysadmin -- chroot /host sh -c `+
		`'read go; journalctl -o export --since "%s" --until "%s"' > node-%s-journal.export`,
		kubectl, node, c.since().Format(form), c.Now().UTC().Format(form), node)
}

// inShell is a text as one word of a shell.
func inShell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
