// Package otlp sends verdicts to an OpenTelemetry collector, as log events with the names of the
// conventions for CI/CD.
//
// Invariant: each revision is one event named coroner.verdict, with the same attributes and
// times however often it is sent; attributes are added, never renamed or removed.
//
// Crash behaviour: it keeps no state. What was sent right before a crash is sent again: case and
// revision tell that it is the same.
package otlp

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"coroner/classify/ledger"
	"coroner/classify/lookup"
	"coroner/rules"
	"coroner/rules/casefile"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/log"
	sdk "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"
)

// EventName is the name of every event.
const EventName = "coroner.verdict"

// Exporter sends verdicts. New makes one.
type Exporter struct {
	out    sdk.Exporter
	logger log.Logger
	made   *records
	pages  string
}

// New returns an exporter to http://HOST:4318/v1/logs, or where else a collector takes logs.
// token is read at each request, nil for none; pages is the address of coroner's pages.
func New(address string, token func() (string, error), version, pages string) (*Exporter, error) {
	client := &http.Client{Timeout: 30 * time.Second, Transport: bearer{token}}
	out, err := otlploghttp.New(context.Background(), otlploghttp.WithEndpointURL(address),
		otlploghttp.WithHTTPClient(client), otlploghttp.WithCompression(otlploghttp.GzipCompression),
		otlploghttp.WithRetry(otlploghttp.RetryConfig{})) // what is not taken is sent again by package deliver
	if err != nil {
		return nil, err
	}
	made := &records{}
	from := resource.NewSchemaless(
		attribute.String("service.name", "coroner"),
		attribute.String("service.version", version),
	)
	provider := sdk.NewLoggerProvider(sdk.WithResource(from), sdk.WithProcessor(made),
		sdk.WithAttributeCountLimit(-1))
	return &Exporter{out: out, logger: provider.Logger("coroner"), made: made, pages: pages}, nil
}

// bearer sends a token with each request.
type bearer struct{ token func() (string, error) }

// RoundTrip sends a request.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.token != nil {
		token, err := b.token()
		if err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// records are what the logger made, until they are sent: only who sends them learns whether
// they were taken.
type records struct{ all []sdk.Record }

// Enabled says that every record is wanted.
func (r *records) Enabled(context.Context, sdk.EnabledParameters) bool { return true }

// OnEmit keeps a record.
func (r *records) OnEmit(_ context.Context, record *sdk.Record) error {
	r.all = append(r.all, record.Clone())
	return nil
}

// Shutdown has nothing to do.
func (r *records) Shutdown(context.Context) error { return nil }

// ForceFlush has nothing to do.
func (r *records) ForceFlush(context.Context) error { return nil }

// Send sends one revision. It is called by one goroutine.
func (e *Exporter) Send(ctx context.Context, d ledger.Delivery) (string, error) {
	e.made.all = e.made.all[:0]
	e.logger.Emit(ctx, e.event(&d.Record))
	if err := e.out.Export(ctx, e.made.all); err != nil {
		return "", fmt.Errorf("OpenTelemetry: %w", err)
	}
	return "", nil
}

func (e *Exporter) event(r *ledger.Record) (out log.Record) {
	v := &r.Verdict
	out.SetEventName(EventName)
	out.SetObservedTimestamp(r.Recorded)
	out.SetTimestamp(happened(r))
	out.SetBody(log.StringValue(v.Summary))
	switch {
	case !v.Wrong():
		out.SetSeverity(log.SeverityInfo)
		out.SetSeverityText("INFO")
	case v.Confidence == rules.Suspected:
		out.SetSeverity(log.SeverityWarn)
		out.SetSeverityText("WARN")
	default:
		out.SetSeverity(log.SeverityError)
		out.SetSeverityText("ERROR")
	}
	out.AddAttributes(e.attributes(r)...)
	return out
}

// happened is when a verdict's subject died, or when what lasts began or ended.
func happened(r *ledger.Record) time.Time {
	for _, at := range []*time.Time{r.Verdict.DiedAt, r.Verdict.Until, r.Verdict.Since} {
		if at != nil {
			return *at
		}
	}
	return r.Recorded
}

func (e *Exporter) attributes(r *ledger.Record) (out []log.KeyValue) {
	v := &r.Verdict
	errorType := ""
	if v.Wrong() {
		errorType = string(v.Label)
	}
	page := ""
	if e.pages != "" {
		page = strings.TrimRight(e.pages, "/") + lookup.PagePath(v.Kind, v.Namespace, v.About(), r.Case)
	}
	for _, a := range []struct{ name, value string }{
		{"cicd.pipeline.task.run.result", result(v)},
		{"cicd.pipeline.task.name", v.Job.Name}, {"cicd.pipeline.task.run.id", v.Job.ID},
		{"cicd.pipeline.run.id", v.Job.RunID}, {"cicd.worker.id", v.PodUID}, {"cicd.worker.name", v.Runner},
		{"error.type", errorType}, {"vcs.repository.name", v.Job.Repository},
		{"k8s.cluster.name", v.Cluster}, {"k8s.namespace.name", v.Namespace}, {"k8s.node.name", v.Node},
		{"k8s.pod.name", v.Runner}, {"k8s.pod.uid", v.PodUID}, {"url.full", page},
		{"coroner.case", r.Case}, {"coroner.verdict", string(v.Label)}, {"coroner.confidence", string(v.Confidence)},
		{"coroner.domain", v.Domain}, {"coroner.initiator", v.Initiator}, {"coroner.retry", v.Retry},
		{"coroner.rule", v.Rule}, {"coroner.rulebook", v.Rulebook}, {"coroner.pool", v.Pool},
		{"coroner.kind", v.Kind.Word()}, {"coroner.state", string(v.State)}, {"coroner.change", v.Change()},
		{"coroner.advice", v.Advice}, {"coroner.job.step", v.Job.Step},
	} {
		if a.value != "" {
			out = append(out, log.String(a.name, a.value))
		}
	}
	out = append(out, log.Int("coroner.revision", v.Revision))
	if v.Exit.Code != nil {
		out = append(out, log.Int("process.exit.code", *v.Exit.Code))
	}
	return out
}

// result is how the task run ended by the conventions' words, "" where none ran.
func result(v *rules.Verdict) string {
	switch {
	case v.Kind != casefile.OfRunner || v.Label == rules.None:
		return ""
	case v.Label == rules.Completed:
		return "success"
	case v.Label == rules.JobCancelled:
		return "cancellation"
	case v.Label == rules.DeadlineExceeded:
		return "timeout"
	case !v.Wrong() || v.Label.BeforeStart() || v.Label == rules.NeverRan:
		return ""
	case v.Domain == "workload":
		return "failure"
	}
	return "error"
}
