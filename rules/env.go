package rules

import (
	"maps"
	"math"
	"slices"
	"time"

	"coroner/ingest"
	"coroner/rules/casefile"
	"coroner/rules/scope"
	"coroner/rules/signal"

	"github.com/expr-lang/expr/types"
)

// recordBase are the fields that every piece of evidence has in expressions.
var recordBase = types.Map{
	"at":        types.TypeOf(time.Time{}),
	"lag":       types.Float64, // seconds from the line to the death; 0 when either time is unknown
	"blur":      types.Float64, // seconds that its time may be too early: one where it is in whole seconds
	"near":      types.Bool,    // within 15 s before and 10 s after the death, or a time is unknown
	"before":    types.Bool,    // before the death, or a time is unknown
	"mine":      types.Bool,    // the line names this pod
	"others":    types.Bool,    // the line names another pod
	"proven":    types.Bool,    // nobody in the job could have written it
	"timed":     types.Bool,    // the line has a time
	"sandbox":   types.Bool,    // the container it names is the pod's sandbox
	"own":       types.Bool,    // it can be about the runner's own container: not a helper's, not the sandbox
	"outlived":  types.Bool,    // the runner's own output goes on after it
	"went_on":   types.Bool,    // the log of its source goes on for a minute after it
	"seq":       types.Int,     // place among the case's evidence, in time order
	"line":      types.Int,     // line in its document, 0 when it has none
	"source":    types.String,
	"container": types.String,
	"node":      types.String,
	"text":      types.String,
}

// caseTypes are the words that describe the case as a whole.
var caseTypes = types.Map{
	"exit": types.Map{
		"known": types.Bool, "code": types.Int, "reason": types.String, "signal": types.Int,
		"message": types.String, "source": types.String, "proven": types.Bool, "synthetic": types.Bool,
		"restarted": types.Bool, "ran": types.Float64, "container": types.String, "container_id": types.String,
	},
	"log": types.Map{
		"read":   types.Bool,    // the runner's own output was read
		"lines":  types.Int,     // how many lines it had
		"silent": types.Float64, // seconds from its last line to the death; -1 when unknown
	},
	"pod": types.Map{
		"name": types.String, "namespace": types.String, "uid": types.String,
		"node": types.String, "pool": types.String,
		"main":    types.String, // the name of the runner's own container, "" if it is not known
		"several": types.Bool,   // containers beside the runner's own are named
		"nobody":  types.Bool,   // the case of text that names no pod, container or microVM
	},
	"alarmed":    types.Bool,                // some line alone speaks of a death
	"recognised": types.Bool,                // some line of what was read is known
	"ended":      types.Bool,                // something says that the pod or its container is over
	"died":       types.TypeOf(time.Time{}), // when, zero if unknown
	"died_known": types.Bool,
}

func caseWord(name string) bool {
	_, ok := caseTypes[name]
	return ok || name == "covered"
}

// environment builds the closed set of words that expressions may use.
func (b *builder) environment() {
	env := types.Map{}
	for name, t := range caseTypes {
		env[name] = t
	}
	covered := types.Map{}
	for _, s := range ingest.Sources {
		covered[string(s)] = types.Bool
	}
	env["covered"] = covered
	families, empty := map[string]types.Map{}, map[string]any{}
	b.members = map[string]string{}
	for _, d := range b.book.Signals {
		if _, clash := env[d.Family]; clash {
			b.errs.Add(d.At(), "signal family %q has the name of something else", d.Family)
			continue
		}
		if families[d.Family] == nil {
			families[d.Family], empty[d.Family] = types.Map{}, map[string]any{}
		}
		families[d.Family][memberName(d.Name)] = types.Array(b.records.of(d))
		b.members[d.Family+"."+memberName(d.Name)] = d.Name
		empty[d.Family].(map[string]any)[memberName(d.Name)] = []any{}
	}
	for name, t := range families {
		env[name] = t
	}
	b.scope, b.book.empty = scope.New(env, slices.Sorted(maps.Keys(families))), empty
}

// caseEnvironment is the value of that environment for one case. Records and facts join it
// when they are asked for: of most cases few are.
func (b *Rulebook) caseEnvironment(c *casefile.Case, f casefile.Findings) map[string]any {
	env := make(map[string]any, len(b.empty)+32)
	for family, none := range b.empty {
		env[family] = none
	}
	lists := &recordLists{c: c, died: f.Died, waiting: map[string][]int{}, families: map[string]map[string]any{},
		names: map[string]any{}}
	for i := range c.Evidence {
		name := c.Evidence[i].Def.Name
		lists.waiting[name] = append(lists.waiting[name], i)
	}
	env[listsKey] = lists
	b.addCase(env, c, f)
	return env
}

// recordLists makes the records of a case's evidence, signal by signal.
type recordLists struct {
	c        *casefile.Case
	died     time.Time
	waiting  map[string][]int          // signal -> its evidence, nil once its records are made
	families map[string]map[string]any // the case's own, which have records
	names    map[string]any            // of nodes and containers, as values that many records share
}

func (l *recordLists) nameValue(name string) any {
	if l.names[name] == nil {
		l.names[name] = name
	}
	return l.names[name]
}

// listsKey is where an environment keeps them; no expression can spell it.
const listsKey = "#lists"

// haveSome says whether the case has evidence of one of the signals.
func (l *recordLists) haveSome(signals []string) bool {
	return slices.ContainsFunc(signals, func(name string) bool {
		_, seen := l.waiting[name]
		return seen
	})
}

// makeRecords puts the records of the signals into the environment.
func (l *recordLists) makeRecords(env map[string]any, signals []*signal.Def) {
	for _, d := range signals {
		numbers := l.waiting[d.Name]
		if numbers == nil {
			continue
		}
		l.waiting[d.Name] = nil
		family := l.families[d.Family]
		if family == nil {
			family = maps.Clone(env[d.Family].(map[string]any)) // every case's, without records
			l.families[d.Family], env[d.Family] = family, family
		}
		list := make([]any, len(numbers))
		for i, number := range numbers {
			list[i] = l.recordOf(number)
		}
		family[memberName(d.Name)] = list
	}
}

// indexKey is how a record remembers which evidence it is; no expression can
// spell it.
const indexKey = "#"

// sourceValues are the sources as expressions see them, made once for all records.
var sourceValues = valuesOf(ingest.Sources)

func valuesOf(sources []ingest.Source) map[ingest.Source]any {
	all := map[ingest.Source]any{}
	for _, s := range append(slices.Clone(sources), ingest.Unknown) {
		all[s] = string(s)
	}
	return all
}

// nearBefore and nearAfter bound what counts as happening at the death: exit
// records have whole seconds, and OOM events may be told after the exit.
const nearBefore, nearAfter = 15.0, 10.0

// recordOf is the i-th evidence of a case as expressions see it.
func (l *recordLists) recordOf(i int) map[string]any {
	c, died, e := l.c, l.died, &l.c.Evidence[i]
	m := make(map[string]any, len(recordBase)+8)
	e.PutCaptures(m)
	lag, timed := 0.0, !e.At.IsZero() && !died.IsZero()
	if timed {
		lag = died.Sub(e.At).Seconds()
	}
	m[indexKey] = i
	m["at"], m["lag"], m["timed"] = e.At, lag, !e.At.IsZero()
	m["blur"] = 0.0
	if e.At.Nanosecond() == 0 {
		m["blur"] = 1.0
	}
	m["near"] = !timed || (lag <= nearBefore && lag >= -nearAfter)
	m["before"] = !timed || lag >= 0 || lag > -1 && died.Nanosecond() == 0 // whole seconds may be cut
	m["mine"], m["others"], m["proven"], m["line"] = e.Mine, e.Others, e.Proven, e.LineNumber()
	m["outlived"], m["went_on"] = c.SpokeAfter(e), c.LogWentOn(e)
	m["seq"], m["sandbox"] = i, c.Sandboxes[e.Str("container_id")]
	m["source"], m["node"], m["text"] = sourceValues[e.Source], l.nameValue(e.Node), e.Text
	name := c.ContainerOf(e)
	m["container"], m["own"] = l.nameValue(name), !c.Sandboxes[casefile.ContainerID(e)] && c.MayBeRunners(name)
	return m
}

func (b *Rulebook) addCase(env map[string]any, c *casefile.Case, f casefile.Findings) {
	x := f.Exit
	env["exit"] = map[string]any{
		"known": x.Known, "code": x.Code, "reason": x.Reason, "signal": x.Signal, "message": x.Message,
		"source": string(x.Source), "proven": x.Proven, "synthetic": x.Synthetic,
		"restarted": x.Restarted, "ran": x.Ran, "container": x.Container, "container_id": x.ID,
	}
	silent := -1.0
	if c.Log.Read && !c.Log.Last.IsZero() && !f.Died.IsZero() {
		silent = math.Max(0, f.Died.Sub(c.Log.Last).Seconds())
	}
	env["log"] = map[string]any{"read": c.Log.Read, "lines": c.Log.Lines, "silent": silent}
	env["pod"] = map[string]any{
		"name": c.Name, "namespace": c.Namespace, "uid": c.UID, "node": c.Node,
		"pool": poolOf(c, f), "nobody": c.Nobody(), "main": c.MainContainer(), "several": casefile.Several(c),
	}
	covered := map[string]any{}
	for s, ok := range f.Covered {
		covered[string(s)] = ok
	}
	env["recognised"] = len(c.Evidence) > 0 || c.Crowd
	env["alarmed"] = c.Alarmed()
	env["covered"], env["ended"], env["died"], env["died_known"] = covered, f.Ended, f.Died, !f.Died.IsZero()
}
