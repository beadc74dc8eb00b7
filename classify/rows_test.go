package classify_test

import (
	"fmt"
	"strings"
	"testing"

	"coroner/classify"
	"coroner/ingest/bundle"
	"coroner/rules"

	"golang.org/x/tools/txtar"
)

// A table of kubectl has the name of each pod and an age, neither a UID nor a time.
const (
	eventHead = "LAST SEEN   TYPE      REASON   OBJECT        MESSAGE\n"
	podHead   = "NAME      READY   STATUS   RESTARTS   AGE\n"
)

// rowsOfEnd are rows that tell of a pod's end, each with a record of the end beside it enough
// for a probable verdict.
var rowsOfEnd = map[string]string{
	"evicted": "%s   Warning   Evicted                pod/forge-0   The node was low on resource: memory.\n",
	"tainted": "%s   Normal    TaintManagerEviction   pod/forge-0   Marking for deletion Pod ci/forge-0\n",
	"unhealthy": "%s   Normal    Killing                pod/forge-0   " +
		"Container runner failed liveness probe, will be restarted\n",
	"stopped": "%s   Normal    Killing                pod/forge-0   Stopping container runner\n",
}

// forgePod is the object of the pod forge-0 with a state of its container.
func forgePod(state string) string {
	return `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"forge-0","namespace":"ci","uid":"` + laterUID +
		`","creationTimestamp":"2026-03-01T10:00:00Z"},"spec":{"nodeName":"host-1","containers":[{"name":"runner"}]},` +
		`"status":{"containerStatuses":[{"name":"runner","containerID":"containerd://` + strings.Repeat("2b", 32) +
		`","state":{` + state + `}}]}}`
}

// forgeEnd is the state of a container that ended.
func forgeEnd(code int, reason string) string {
	return fmt.Sprintf(`"terminated":{"exitCode":%d,"reason":%q,"startedAt":"2026-03-01T10:00:05Z",`+
		`"finishedAt":"2026-03-01T10:20:05Z"}`, code, reason)
}

// judgeFiles are the verdicts of the files, which come as name, text, name, text.
func judgeFiles(t *testing.T, b *rules.Rulebook, files ...string) rules.Verdict {
	t.Helper()
	archive := &txtar.Archive{}
	for i := 0; i < len(files); i += 2 {
		archive.Files = append(archive.Files, txtar.File{Name: files[i], Data: []byte(files[i+1])})
	}
	entries := bundle.Bytes("case.txtar", txtar.Format(archive), bundle.Options{}).Entries(nil)
	return classify.Replay(entries, b, classify.Options{})[0]
}

// A row of a table can be about an earlier pod of the name: it gives no more than a suspicion
// against a pod that is known by its UID, or that is younger than what the row tells of.
func TestRowsOfEarlierLife(t *testing.T) {
	b := loadBook(t)
	for what, row := range rowsOfEnd {
		events := eventHead + fmt.Sprintf(row, "52m")
		for beside, text := range map[string]string{
			"pod.json": forgePod(forgeEnd(137, "Error")),
			"pods.txt": podHead + "forge-0   0/1     Error    0          5m\n",
		} {
			v := judgeFiles(t, b, "events.txt", events, beside, text)
			if v.Confidence != rules.Suspected {
				t.Errorf("%s beside %s: %s (%s), want suspected", what, beside, v.Label, v.Confidence)
			}
		}
		alone := judgeFiles(t, b, "events.txt", events)
		if sure := alone.Label != rules.SIGTERMDrain; sure == (alone.Confidence == rules.Suspected) {
			t.Errorf("%s alone: %s (%s)", what, alone.Label, alone.Confidence)
		}
		older := judgeFiles(t, b, "events.txt", events, "pods.txt",
			podHead+"forge-0   0/1     Error    0          3d4h\n")
		if older.Label != alone.Label || older.Confidence != alone.Confidence {
			t.Errorf("%s, of a pod that was there: %s (%s), want %s (%s)", what, older.Label, older.Confidence,
				alone.Label, alone.Confidence)
		}
	}
}

// What a pod's own object tells of its end stands, whatever the rows beside it say; and a pod
// that lives and has nothing but rows of its start lives on.
func TestRowsTakeNothingAway(t *testing.T) {
	b := loadBook(t)
	started := eventHead + "5m   Normal   Started   pod/forge-0   Started container runner\n"
	for _, state := range []string{forgeEnd(137, "OOMKilled"), `"running":{"startedAt":"2026-03-01T10:00:05Z"}`} {
		want := judgeFiles(t, b, "pod.json", forgePod(state))
		rows := []string{started}
		if strings.Contains(state, "OOMKilled") {
			for _, row := range rowsOfEnd {
				rows = append(rows, eventHead+fmt.Sprintf(row, "52m"))
			}
		}
		for _, text := range rows {
			got := judgeFiles(t, b, "events.txt", text, "pod.json", forgePod(state))
			if got.Label != want.Label || got.Confidence != want.Confidence {
				t.Errorf("%s beside %s: %s (%s), want %s (%s)", state, text, got.Label, got.Confidence, want.Label,
					want.Confidence)
			}
		}
	}
}
