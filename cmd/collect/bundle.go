package collect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Flags are those of coroner collect.
type Flags struct {
	Cluster
	Where
	Output string `short:"o" help:"${collect_output}" placeholder:"DIR"`
}

// Where says in which namespaces a runner is looked for, as kubectl is told.
type Where struct {
	Namespace     string `short:"n" help:"${collect_namespace}" placeholder:"NAME"`
	AllNamespaces bool   `short:"A" name:"all-namespaces" help:"Look in all namespaces."`
}

// Check refuses one namespace and all of them at one time.
func (w Where) Check() error {
	if w.Namespace != "" && w.AllNamespaces {
		return errors.New("-n and -A at one time; give one of them")
	}
	return nil
}

// usageError is what the flags cannot mean.
type usageError struct{ error }

// IsUsage says whether the flags are wrong, and not the cluster.
func IsUsage(err error) bool { return errors.As(err, &usageError{}) }

// Bundle collects the runner that is named, or all, into the file or folder that it returns.
// note is told at once what could not be had; the bundle says it too.
func (f Flags) Bundle(ctx context.Context, what []string, now time.Time, note func(string)) (where string, err error) {
	name, namespace, err := f.subject(what)
	if err != nil {
		return "", usageError{err}
	}
	api, err := f.Connect()
	if err != nil {
		return "", usageError{err}
	}
	if namespace == "" && !f.AllNamespaces {
		namespace = api.Namespace
	}
	where, sink, err := f.sink(name, now)
	if err != nil {
		return "", usageError{err}
	}
	var notes []string
	c := &Collector{API: api, Sink: sink, Cluster: f.Cluster, Now: func() time.Time { return now }}
	c.Note = func(text string) {
		text = strings.Join(strings.Fields(text), " ")
		notes = append(notes, text)
		note(text)
	}
	err = c.collect(ctx, namespace, name)
	text := "What this bundle does not hold, and why:\n" + strings.Join(notes, "\n") + "\n"
	if len(notes) > 0 {
		err = errors.Join(err, sink.Put(NotCollected, []byte(text)))
	}
	return where, errors.Join(err, sink.Close())
}

// subject is whose bundle it is; without a name it is everybody's.
func (f Flags) subject(what []string) (name, namespace string, err error) {
	if len(what) > 1 {
		return "", "", fmt.Errorf("%d names; give one", len(what))
	}
	if err := f.Check(); err != nil {
		return "", "", err
	}
	if len(what) == 0 {
		return "", f.Namespace, nil
	}
	name, namespace = what[0], f.Namespace
	for _, kind := range []string{"pod/", "pods/", "po/"} {
		name = strings.TrimPrefix(name, kind)
	}
	if before, after, ok := strings.Cut(name, "/"); ok {
		if namespace != "" && namespace != before {
			return "", "", fmt.Errorf("%s and -n %s at one time; give one of them", name, namespace)
		}
		namespace, name = before, after
	}
	if !isPlain(name) || namespace != "" && !isPlain(namespace) {
		return "", "", fmt.Errorf("%q is no pod's name", what[0])
	}
	return name, namespace, nil
}

// sink is where the bundle goes: what -o says, or a new folder here.
func (f Flags) sink(name string, now time.Time) (where string, _ interface {
	Sink
	Close() error
}, err error) {
	where = f.Output
	if where == "" {
		where = strings.ReplaceAll("coroner-"+name+"-"+now.UTC().Format("20060102T150405Z"), "--", "-")
	}
	if strings.HasSuffix(where, ".tar.gz") || strings.HasSuffix(where, ".tgz") {
		a, err := NewArchive(where, now)
		return where, a, err
	}
	d, err := NewFolder(where)
	return where, d, err
}

// collect collects one runner or all, and what they share. An error is what makes a bundle
// worthless.
func (c *Collector) collect(ctx context.Context, namespace, name string) error {
	if name == "" {
		n, err := c.All(ctx, namespace)
		if err == nil && n == 0 {
			err = errors.New("not found: no pod has a runner's labels; name the pod")
		}
		if n == 0 {
			return err
		}
		if err != nil {
			c.Note(err.Error())
		}
		return c.Controllers(ctx)
	}
	namespaces := []string{namespace}
	if namespace == "" {
		var err error
		if namespaces, err = c.Find(ctx, name); err != nil {
			return err
		}
	}
	any := false
	for _, ns := range namespaces {
		found, err := c.Runner(ctx, ns, name)
		if err != nil {
			return err
		}
		any = any || found
	}
	if !any {
		return fmt.Errorf("%s not found: no pod of that name, no event about one, no EphemeralRunner", name)
	}
	return c.Controllers(ctx)
}
