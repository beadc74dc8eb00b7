// Package helptext holds the help texts and defaults of coroner's flags that are too long
// for a struct tag. A tag names one as ${name}.
//
// Invariant: every text is used by a flag.
//
// Crash behaviour: it keeps no state.
package helptext

import "github.com/alecthomas/kong"

// Vars are the texts by their names.
var Vars = kong.Vars{
	"loki_controller": `{namespace=~"arc-systems|actions-runner-system"}`,
	"loki_journal":    `{job="integrations/kubernetes/journal"}`,
	"loki_pods":       `{container="runner"}`,
	"server":          "http://127.0.0.1:9095",

	"catalogue_file":    "Lists of templates: version, file, kind, level and template, separated by tabs.",
	"collect_namespace": "Namespace of the runner. Default: all at a server, the context's at a cluster's API.",
	"collect_output": "Where the bundle goes: a new folder, or an archive if it ends in .tar.gz. Default: a folder " +
		"here, named after the runner and the time.",
	"collect_what": "A runner's pod: NAME, pod/NAME or NAMESPACE/NAME. Without one: all runners.",
	"complete_shell": "bash, zsh, fish, powershell, or kubectl: the script by which kubectl completes kubectl " +
		"coroner.",
	"explain_all": "Show whole pages: every line, what is still open, commands that show more; the neighbours' " +
		"pages too. With --loki and no --runner: walk the time since --since and explain every runner that died.",
	"explain_loki": "Read from this Loki instead of files, http://HOST:PORT; with --runner one runner, with --all " +
		"every runner that died.",
	"help_arc":                "With --loki: streams of the controller and its listeners.",
	"help_journal":            "With --loki: streams of the nodes' journals.",
	"explain_loki_node_label": "With --loki: label of the journal's streams that has the node's name.",
	"explain_loki_pod_label":  "With --loki: label with the pod's name.",
	"explain_loki_pods":       "With --loki: streams of runner pods.",
	"explain_loki_user":       "With --loki: user for basic authentication; the token file holds the password.",
	"explain_runner":          "Explain this runner only: [NAMESPACE/]NAME, the start of it, or a pod UID.",
	"explain_since":           "With --loki: how far back, a duration (24h) or a time (2026-01-02T15:04:05Z).",
	"filter_since": "Only what was judged since: a duration back from now (90m, 7d) or a time " +
		"(2026-01-02T15:04:05Z). Default: all that is kept.",
	"filter_verdict": "Only these labels, separated by commas. Default: all.",
	"filter_kind":    "Only of this kind: runner, pool or job. Default: all.",
	"input_path":     "Files, folders, archives (.gz .tar .zip .txtar) or - for standard input.",
	"input_rules":    "Folder of rulebook files (*.yaml) that extend or replace entries of the built-in one.",
	"input_timezone": "Zone of times that name none, e.g. Europe/Berlin. Default: the zone that the logs imply, " +
		"else UTC.",
	"list_output": "Form of the answer: text, json (an object a line), yaml (a document each), markdown (a table), " +
		"wide (every column), name (what lookup takes) or jsonpath=TEMPLATE.",
	"lookup_all":      "Show the whole page: every line, what is still open, commands that show more.",
	"lookup_incident": "Write the incident file instead: what the verdict was judged from, for coroner explain.",
	"lookup_what":     "A runner's [NAMESPACE/]NAME, the start of it, a pod UID, a job's address, or NODE TIME.",
	"main_collect":    "Save what a cluster still has of a runner, and explain it.",
	"main_color":      "Colours: auto (on a terminal, unless NO_COLOR is set), always or never.",
	"main_relay":      "Watch a cluster's Kubernetes API for a server elsewhere.",
	"main_serve":      "Classify live: take what agents and shippers push, give every dead runner a verdict.",
	"output_output": "Form of the answer: text, json (an object a line), yaml (a document each), markdown (for a " +
		"ticket), name (what lookup takes) or jsonpath=TEMPLATE (of each verdict).",
	"relay_cluster": "The cluster that is watched. Default: that of the token, else the server's own.",
	"rules_check":   "Compile the rulebook, check that rules have what confirmed takes, and run its tests.",
	"serve_cluster": "The cluster of every record that names none; label cluster of the verdicts in Loki. Agents " +
		"and shippers of other clusters name theirs.",
	"serve_controller": "Glob NAMESPACE/POD of the controllers' and listeners' pods; may be given several times. " +
		"What other pods print in a controller's words proves nothing. A glob that is more specific than * about " +
		"the pod's name makes every pod that it matches a controller, whatever the pod is called.",
	"github_annotate": "Say at the job on GitHub what its runner died of: log (GitHub is asked about the job, and " +
		"only the log says what would be written), check (a check run, with a GitHub App), status (a commit " +
		"status) or comment (a comment on the open pull requests of the job's commit). Default: nothing is said.",
	"github_app_id": "GitHub App that acts at GitHub in place of the token. It needs actions: read and " +
		"checks: write; for --github.annotate=comment pull requests: write, for --github.rerun actions: write.",
	"github_rerun": "Run jobs again whose runner died, where the verdict says that this helps, is at least " +
		"probable and is not the job's own business; twice at most for each run, never while something is wrong " +
		"with the pool.",
	"github_reruns_per_hour": "Most jobs that are run again within an hour.",
	"github_scope": "Repositories that --github.annotate and --github.rerun are for, with * for any; may be " +
		"given several times.",
	"serve_notify_config_file": "File that says who is told of which verdicts: webhooks, Slack, Teams, " +
		"Alertmanagers, CloudEvents. Read again on SIGHUP and POST /-/reload.",
	"serve_otlp_logs_url": "OpenTelemetry collector that gets every verdict as a log event, " +
		"http://HOST:4318/v1/logs. Default: none.",
	"serve_web_grafana_datasource": "UID of the Loki data source in that Grafana that has the logs of " +
		"runners and nodes.",
	"serve_web_grafana_url": "Grafana that a post-mortem leads to: the runner's log and the node's journal around " +
		"the death, in Explore. Default: no page leads there.",
	"serve_web_external_url": "Address of coroner's pages as people reach them, for links in what is sent.",
	"github_pace": "Most requests to GitHub in a minute, and as many again for what --github.annotate and " +
		"--github.rerun send. GitHub's own rate limits are obeyed too.",
	"github_token_file": "File with a token that may read the repositories' actions. GitHub is then asked " +
		"about the job of a runner whose verdict is not confirmed. Default: GitHub is not asked.",
	"github_webhook_secret": "File with the secret of a GitHub webhook for the event workflow_job. The " +
		"server then accepts it at /api/v1/github/webhook: jobs that wait longer than usual get a verdict, and " +
		"runners their jobs. Default: no webhook is accepted.",
	"github_url": "GitHub's REST API; https://HOST/api/v3 for a GitHub Enterprise Server.",
	"serve_gitlab_annotate": "Say at the job on GitLab what its runner died of: log (GitLab is asked about the job, " +
		"and only the log says what would be written) or comment (on the open merge requests of the job's " +
		"commit, else on the commit; and a commit status). Default: nothing is said.",
	"serve_gitlab_scope": "Group or project that --gitlab.annotate is for, with all below it; may be given several " +
		"times.",
	"serve_gitlab_token_file": "File with a token for GitLab that has the scope api and the role Developer, or " +
		"Reporter for comments without a commit status; read at each use.",
	"serve_gitlab_url":  "Address of GitLab.",
	"serve_kube_config": "Kubeconfig file. Default: the pod's own service account.",
	"serve_kube_ephemeral_runners": "Watch the objects of actions-runner-controller in these namespaces too, of both " +
		"generations: EphemeralRunners and Runners, which name the runner's job, and sets of them, autoscalers and " +
		"listeners, which tell of a pool that is blocked or that nobody serves. Those that the cluster has are " +
		"watched. Needs get, list and watch on them.",
	"serve_kube_namespace": "Watch the pods and events of this namespace through the Kubernetes API, so that exit " +
		"records are known without a controller's log; may be given several times. Needs get, list and watch on " +
		"both. Default: the API is not used.",
	"serve_kube_nodes": "Watch the cluster's nodes too: their conditions and boot ids. Needs a ClusterRole with " +
		"get, list and watch on nodes.",
	"serve_loki_window": "Where a death is longer ago than this, Loki gets the verdict under the " +
		"verdict's own time. Keep it under half of Loki's max_chunk_age.",
	"serve_loki_url":  "Loki that gets the verdicts, http://HOST:PORT. Default: none.",
	"serve_loki_user": "User for basic authentication; the token file holds the password.",
	"serve_max_open_cases": "How many cases may be open. If there are more, the oldest are judged with the " +
		"evidence that there is.",
	"serve_memory_limit": "Memory that the server should stay under. Default: the limit of its " +
		"container, else 512 MiB.",
	"serve_node_silent_after": "How long after the last push of its agent a node counts as vanished, and its " +
		"runners with it.",
	"serve_push_client_node":    "san: an agent's client certificate names its node.",
	"serve_push_max_concurrent": "Pushes handled at one time. The server asks other clients to retry.",
	"serve_push_open":           "Accept pushes from anyone who can reach the port, if no credential is configured.",
	"serve_push_review": "Kubeconfig of another cluster, whose API reviews the tokens of the agents there; " +
		"may be given several times.",
	"serve_push_relay_token_file": "File with the token of the relays of CLUSTER, read at each use; may be given " +
		"several times. Who has it says what the cluster's Kubernetes API says.",
	"serve_push_token_file": "File with the token that agents and shippers must send (Authorization: Bearer); " +
		"CLUSTER=FILE for one that is valid for that cluster alone. May be given several times. Agents use it too " +
		"if they need not prove their node.",
	"serve_retention_bytes": "Size of the ledger beyond which the oldest evidence is dropped.",
	"serve_retention_completed": "How long the verdict of a runner that ended well keeps its evidence; the verdict " +
		"itself stays.",
	"serve_rules": "Folder of rulebook files (*.yaml) that extend or replace entries of the built-in one. Read " +
		"again on SIGHUP and POST /-/reload.",
	"serve_runner": "Glob NAMESPACE/POD of the pods that are runners; may be given several times. Default: pods " +
		"that print a runner's lines, that a controller speaks of, or with -runner- in their name.",
	"serve_pool_silent_after": "How long nobody speaks of a pool before what was wrong with it counts as over.",
	"serve_job_wait": "Shortest time that a job waits for a runner before it counts as stranded, even if the other " +
		"jobs of its pool started sooner. Needs GitHub's webhook, or the listener's log.",
	"serve_job_wait_most": "Time after which a job that waits for a runner counts as stranded, even if other jobs " +
		"of its pool waited longer.",
	"serve_ledger": "The ledger: a file, or the URL of a PostgreSQL database that several servers can share, " +
		"postgres://USER@HOST/DATABASE. The password is best left to PGPASSFILE or PGPASSWORD.",
	"serve_settle_after":    "How long evidence must be complete after a death before the case is judged.",
	"serve_settle_deadline": "How long after a death the case is judged, even if evidence is missing.",
	"serve_web_token_file":  "File with the token for the pages and the API.",
	"server_ca_file":        "Certificate authority of the server.",
	"server_server":         "Address of coroner serve.",
	"server_token_file":     "File with a bearer token for the server.",
	"watch_last":            "How many of the latest verdicts to begin with. With --since: all verdicts since then.",
}
