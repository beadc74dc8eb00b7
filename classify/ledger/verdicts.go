package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"coroner/classify/alike"
	"coroner/rules"
	"coroner/rules/casefile"
)

// Record is a verdict as it was recorded.
type Record struct {
	Case     string        `json:"id"` // of the case: stays the same over revisions
	Recorded time.Time     `json:"recorded_at"`
	Verdict  rules.Verdict `json:"verdict"`
}

// AddVerdict records a verdict and, when publish is set, puts it into the
// outbox with the time stamp that it is published under.
func (t *Tx) AddVerdict(member string, v *rules.Verdict, stamp time.Time, publish bool) error {
	at := *v
	at.Cluster = t.names.storedCluster(v.Cluster)
	if err := t.hold(v.Cluster); err != nil {
		return err
	}
	data, err := json.Marshal(&at)
	if err != nil {
		return err
	}
	died := int64(0)
	if v.DiedAt != nil {
		died = unixNanos(*v.DiedAt)
	}
	k, err := t.ensureCase(member, v)
	if err == nil && v.Revision > 1 {
		_, err = t.conn.Execute("UPDATE verdicts SET last = 0 WHERE pod = ? AND revision < ?", k.pod, v.Revision)
	}
	if err == nil {
		_, err = t.conn.Execute(`INSERT INTO verdicts (number, pod, revision, member, runner, uid, recorded, died,
				cluster, namespace, node, label, pool, repository, run, job, kind, state, alike, last, verdict)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?)`,
			t.conn.NewNumber(), k.pod, v.Revision, member, k.runner, k.uid, unixNanos(t.now), died,
			at.Cluster, v.Namespace, v.Node, v.Label, v.Pool, v.Job.Repository, v.Job.RunID, v.Job.ID,
			string(v.Kind), string(v.State), alike.Of(v).Number(), data)
	}
	if err == nil && publish {
		err = t.enqueueVerdict(k.pod, verdictKey{member, v.Revision}, v, data, stamp)
	}
	return err
}

// keys are by what a verdict is found: the number of its case, and its own names
// where the case has others.
type keys struct {
	pod         int64
	runner, uid string
}

// ensureCase gives a verdict's keys. A case that is not there is made.
func (t *Tx) ensureCase(member string, v *rules.Verdict) (k keys, err error) {
	known := func() error {
		return t.conn.QueryRow(`SELECT pod, CASE name WHEN ? THEN '' ELSE ? END, CASE uid WHEN ? THEN '' ELSE ? END
			FROM cases WHERE id = ?`, v.Runner, v.Runner, v.PodUID, v.PodUID, member).Scan(&k.pod, &k.runner, &k.uid)
	}
	if err = known(); err != sql.ErrNoRows {
		return k, err
	}
	c := Case{
		ID:        member,
		Cluster:   v.Cluster,
		Namespace: v.Namespace,
		Name:      v.Runner,
		UID:       v.PodUID,
		Node:      v.Node,
		Runner:    v.Kind == casefile.OfRunner,
		Kind:      v.Kind,
		Opened:    t.now,
		Heard:     t.now,
		State:     StateJudged,
		Revision:  v.Revision,
	}
	if PodOf(member) != member { // the pod's own case has its names
		c.Name, c.UID, c.Node = "", "", ""
	}
	if err = t.PutCase(c); err == nil {
		err = known()
	}
	return k, err
}

// podOf is the number of the case with an id.
const podOf = "(SELECT pod FROM cases WHERE id = ?)"

// What of a verdict is read: whole, or what stands before its evidence. Whole
// verdicts have a bound, but files have some of before that: of one that is so large
// the head is read, and how many lines of evidence there are.
const (
	// ,"evidence": no text in a verdict can hold it, for its quotes are escaped
	marker = `x'2c2265766964656e6365223a'`
	upTo   = "CASE instr(verdict, " + marker + ") WHEN 0 THEN verdict " +
		"ELSE substr(verdict, 1, instr(verdict, " + marker + ") - 1)"
	head = upTo + " || '}' END"

	counted = upTo + ` || ',"evidence_omitted":' || json_array_length(CAST(verdict AS TEXT), '$.evidence') || '}' END`
	whole   = "CASE WHEN length(verdict) <= 1048576 THEN verdict ELSE " + counted + " END"
)

// inPostgres are the texts that PostgreSQL has others for.
var inPostgres = []string{
	head, "CASE position(" + pgMarker + " IN verdict) WHEN 0 THEN verdict ELSE " + pgUpTo +
		` || CAST('\x7d' AS BYTEA) END`,
	whole, "CASE WHEN length(verdict) <= 1048576 THEN verdict ELSE " + pgUpTo +
		` || convert_to(',"evidence_omitted":' || json_array_length(CAST(convert_from(verdict, 'UTF8') AS JSON)
			-> 'evidence') || '}', 'UTF8') END`,
}

const (
	pgMarker = `CAST('\x2c2265766964656e6365223a' AS BYTEA)`
	pgUpTo   = "substr(verdict, 1, position(" + pgMarker + " IN verdict) - 1)"
)

// maxRevisions is how many of a case's revisions are read, the latest.
const maxRevisions = 50

// LastVerdict returns the latest revision of a case's verdict.
func (q Questions) LastVerdict(ctx context.Context, member string) (Record, bool, error) {
	all, err := q.names.readRecords(ctx, q.query, whole, "WHERE pod = "+podOf+" ORDER BY revision DESC LIMIT 1", member)
	if err != nil || len(all) == 0 {
		return Record{}, false, err
	}
	return all[0], true, nil
}

// Revisions returns the revisions of a case's verdict, the first first; of very
// many, the latest.
func (s Search) Revisions(ctx context.Context, member string) ([]Record, error) {
	tail := "WHERE pod = " + podOf + " ORDER BY revision DESC LIMIT " + strconv.Itoa(maxRevisions)
	all, err := s.names.readRecords(ctx, s.pool.QueryContext, whole, tail, member)
	slices.Reverse(all)
	return all, err
}

// queryFunc runs a query on some connection.
type queryFunc = func(ctx context.Context, query string, args ...any) (*sql.Rows, error)

// readRecords reads verdicts; which part of each, part says.
func (n *naming) readRecords(
	ctx context.Context,
	query queryFunc,
	part, tail string,
	args ...any,
) (out []Record, _ error) {
	rows, err := query(ctx, "SELECT member, recorded, "+part+" FROM verdicts "+tail, args...)
	err = eachRow(rows, err, func(r *sql.Rows) error {
		var rec Record
		var recorded int64
		var data []byte
		if err := r.Scan(&rec.Case, &recorded, &data); err != nil {
			return err
		}
		rec.Recorded = moment(recorded)
		err := json.Unmarshal(data, &rec.Verdict)
		rec.Verdict.Cluster = n.clusterFrom(rec.Verdict.Cluster)
		rec.fillEmpty()
		out = append(out, rec)
		return err
	})
	return out, err
}

// fillEmpty makes empty lists of those that were not read.
func (r *Record) fillEmpty() {
	v := &r.Verdict
	if v.Evidence == nil {
		v.Evidence, v.Missing = []rules.EvidenceLine{}, []string{}
		v.RuledOut, v.Open = []rules.RuledOut{}, []rules.OpenLabel{}
	}
}
