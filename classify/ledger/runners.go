package ledger

import (
	"context"
	"strings"

	"coroner/rules/casefile"
)

// Lives returns the cases of a pod's further lives, the latest first. They have no
// names: what is said of the pod is said of the pod's own case.
func (s Search) Lives(ctx context.Context, pod string) ([]Case, error) {
	rows, err := s.pool.QueryContext(ctx, "SELECT "+caseColumns+` FROM cases WHERE id > ?1 || '.' AND id < ?1 || '/'
		ORDER BY length(id) DESC, id DESC LIMIT 20`, pod)
	return s.names.readCases(rows, err)
}

// ShortestPrefix is how long the start of a name must be to be looked for.
const ShortestPrefix = 3

// FindRunners returns the runners whose name, namespace/name or UID is what, or,
// where none is and it is not too short, begins with it, or, of the latest, holds
// it; the latest heard of first. exact is false for such, and for everything of
// namespace/. A cluster is all of them if it is nil.
func (s Search) FindRunners(
	ctx context.Context, cluster *string, what string, limit int,
) (found []Case, exact bool, err error) {
	ns, name := splitName(what)
	in := place{cluster: s.names.wantedCluster(cluster), namespace: ns}
	if found, err = s.namesBetween(ctx, in, name, name, limit); err != nil || len(found) > 0 {
		return found, true, err
	}
	if whole := name == "" && ns != ""; len(name) < ShortestPrefix && !whole {
		return nil, true, nil
	}
	_, to := prefixRange(name)
	if found, err = s.namesBetween(ctx, in, name, to, limit); len(found) > 0 || err != nil || name == "" {
		return found, false, err
	}
	found, err = s.namesHolding(ctx, in, name, limit)
	return found, false, err
}

// FindStanding returns the pools or the jobs of a name that a verdict was given on. A
// cluster is all of them if it is nil.
func (s Search) FindStanding(
	ctx context.Context, kind casefile.Kind, cluster *string, name string,
) ([]Case, error) {
	rows, err := s.pool.QueryContext(ctx, "SELECT "+caseColumns+` FROM cases
		WHERE name = ?1 AND name <> '' AND kind = ?2 AND episodes > 0 AND (CAST(?3 AS TEXT) IS NULL OR cluster = ?3)
		ORDER BY heard DESC, id`, name, string(kind), s.names.wantedCluster(cluster))
	return s.names.readCases(rows, err)
}

// place is where a runner is looked for.
type place struct {
	cluster   any    // as the file has it; nil = in any
	namespace string // "" = in any
}

// fits is the clause for it, of the first two arguments.
const fits = "(CAST(?1 AS TEXT) IS NULL OR cluster = ?1) AND (?2 = '' OR namespace = ?2)"

func (p place) queryArgs(more ...any) []any {
	return append([]any{p.cluster, p.namespace}, more...)
}

// wantedCluster is a cluster that is asked for as the file has it, nil for all.
func (n *naming) wantedCluster(cluster *string) any {
	if cluster == nil {
		return nil
	}
	return n.storedCluster(*cluster)
}

// recent is how many runners are looked through for a part of a name.
const recent = 10_000

// namesHolding returns the runners among the latest whose names hold a part, in
// whatever case.
func (s Search) namesHolding(ctx context.Context, in place, part string, limit int) ([]Case, error) {
	like := "%" + strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(part) + "%"
	rows, err := s.pool.QueryContext(ctx, "SELECT "+caseColumns+` FROM cases WHERE pod IN (SELECT pod FROM
			(SELECT pod, name, namespace, cluster FROM cases INDEXED BY cases_heard WHERE runner
				ORDER BY heard DESC LIMIT ?3) AS latest
			WHERE name LIKE ?4 ESCAPE '\' AND `+fits+` LIMIT ?5) ORDER BY heard DESC, id`,
		in.queryArgs(recent, like, limit)...)
	return s.names.readCases(rows, err)
}

// many is how many runners of a prefix are quicker to look for among the latest.
const many = 2000

func (s Search) namesBetween(ctx context.Context, in place, from, to string, limit int) ([]Case, error) {
	if to == "" {
		return nil, nil
	}
	const where = " WHERE runner AND (name BETWEEN ?3 AND ?4 OR uid BETWEEN ?3 AND ?4) AND " + fits
	args := in.queryArgs(from, to)
	var n int
	err := s.pool.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT 1 FROM cases"+where+" LIMIT ?5) AS found",
		append(args, many)...).Scan(&n)
	if err != nil || n == 0 {
		return nil, err
	}
	from = "cases"
	if n == many {
		from = "cases INDEXED BY cases_heard"
	}
	const order = " ORDER BY heard DESC, id LIMIT ?5"
	rows, err := s.pool.QueryContext(ctx, "SELECT "+caseColumns+" FROM "+from+where+order,
		append(args, limit)...)
	return s.names.readCases(rows, err)
}
