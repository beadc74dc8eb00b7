package signal

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"coroner/fixtures"
	"coroner/ingest"
	"coroner/ingest/bundle"
	"coroner/ingest/logtext"
)

// lines are those of every incident.
func lines(t testing.TB) (out []string) {
	t.Helper()
	all, err := fixtures.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range all {
		for _, f := range in.Files {
			out = append(out, strings.Split(strings.TrimSpace(string(f.Data)), "\n")...)
		}
	}
	return out
}

// The tests that stand with the patterns hold, every pattern has one, and every kind
// is planted below.
func TestSecretsOfTheRulebook(t *testing.T) {
	b := defaultBook(t)
	failed, ran := b.testSecrets()
	for _, f := range failed {
		t.Error(f)
	}
	if ran < 80 {
		t.Errorf("only %d tests", ran)
	}
	have := fixtures.Secrets()
	for _, d := range b.Secrets {
		if _, ok := have[d.Name]; !ok && d.Name != onItsOwn || d.Doc == "" {
			t.Errorf("%s has no doc, or is planted nowhere", d.Name)
		}
		delete(have, d.Name)
	}
	for name := range have {
		t.Errorf("the rulebook knows no %s", name)
	}
}

// The page that says what is redacted names every kind, and its example compiles.
func TestRedactionPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/redaction.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(page), "```yaml\n")
	example, _, ok := strings.Cut(block, "```")
	b, err := Load(os.DirFS("../book"), fstest.MapFS{"example.yaml": {Data: []byte(example)}})
	if err != nil || !ok {
		t.Fatalf("the example: %v", err)
	}
	if failed, _ := b.testSecrets(); failed != nil {
		t.Error(failed)
	}
	for _, d := range defaultBook(t).Secrets {
		if !strings.Contains(string(page), "`"+d.Name+"`") {
			t.Errorf("the page does not name %s", d.Name)
		}
	}
}

// A secret is gone wherever it stands, in a line of any kind, and the rest is there.
func TestPlantedSecretsAreGone(t *testing.T) {
	b, where := defaultBook(t), lines(t)
	random := rand.New(rand.NewPCG(1, 2))
	for kind, p := range fixtures.Secrets() {
		for range 300 {
			line := where[random.IntN(len(where))]
			at := random.IntN(len(line) + 1)
			e := ingest.Entry{Source: ingest.Runner, Text: line[:at] + " " + p.Line() + line[at:]}
			if b.Scan(&e) == nil {
				b.Redact(&e)
			}
			if strings.Contains(e.Text, p.Value) || !strings.Contains(e.Text, "[redacted:") {
				t.Fatalf("%s stays:\n%s", kind, e.Text)
			}
		}
	}
}

// onItsOwn is the kind of secret that is one only on a line of its own: it cannot be planted
// among other words.
const onItsOwn = "lone-password"

// A token whose form tells it is gone in the middle of a word, too.
func TestFormedSecretsAreGoneInsideOfWords(t *testing.T) {
	b := defaultBook(t)
	for _, d := range b.Secrets {
		p := fixtures.Secrets()[d.Name]
		if p.Line() != p.Value || d.Name == onItsOwn {
			continue
		}
		for _, around := range []string{"x%sx", `{"k":"%s"}`, "a=%s,b", "/%s/", "'%s'", "[%s]", "%s.", "\\n%s\\n",
			"é%sé"} {
			e := ingest.Entry{Text: fmt.Sprintf(around, p.Line())}
			if b.Redact(&e); strings.Contains(e.Text, p.Value) {
				t.Errorf("%s stays: %s", d.Name, e.Text)
			}
		}
	}
}

// What evidence is made of stays: the whole of every incident, and ids of every kind.
func TestNothingElseIsTakenOut(t *testing.T) {
	b := defaultBook(t)
	all, err := fixtures.All()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, in := range all {
		for e := range bundle.Bytes(in.Name+".txtar", in.Archive(), bundle.Options{}).Entries(nil) {
			was := e
			b.Redact(&e)
			if n++; e.Text != was.Text || fmt.Sprint(e.Fields) != fmt.Sprint(was.Fields) {
				t.Errorf("%s: %q becomes %q", in.Name, was.Text, e.Text)
			}
		}
	}
	if n < 1000 {
		t.Errorf("only %d records", n)
	}
	id := fixtures.Filler(64, fixtures.Hex)
	for _, line := range []string{
		"pod 0a0b0c0d-1111-2222-3333-444455556666 of containerd://" + id,
		"ghcr.io/o/runner@sha256:" + id, "commit " + id[:40] + " of main", "session id " + id[:32],
		"X-GitHub-Request-Id: 0A1B:2C3D4E:F00:BA5:65E1A2B3", "request id 12345678-9abc-def0-1234-56789abcdef0",
		"job 26061234567 of run 9123456789, runner id 4711", "node ip-10-0-12-34.eu-central-1.compute.internal",
		"body aGVsbG8gd29ybGQsIHRoaXMgaXMgaGFybWxlc3M=", "cursor s=" + id[:32] + ";i=1f;b=" + id[:32],
		"token expired", "the token is missing", "the access token expires at 2026-03-01T10:00:00Z",
		"Message queue token expired, refreshing", "W: --tokens=5 max_tokens: 4096 token_count=7",
		`password authentication failed for user "runner"`, "Authorization failed",
		"401 Unauthorized: Bearer token is missing",
		`secret "regcred" not found`, `secrets "regcred" is forbidden: User "x" cannot get`,
		"x509: certificate signed by unknown authority", "tls: private key does not match public key",
		"/var/run/secrets/kubernetes.io/serviceaccount/token: no such file",
		`MountVolume.SetUp failed for volume "kube-api-access-x7k2p" : failed to fetch token: pods "amber" not found`,
		"image pull secret regcred, key ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC7 is public",
		"-----BEGIN CERTIFICATE----- MIIDdzCCAl",
	} {
		e := ingest.Entry{Text: line}
		if b.Redact(&e); e.Text != line {
			t.Errorf("%q becomes %q", line, e.Text)
		}
	}
}

// names are what a job can call its processes, files and cgroups so that what stands
// behind them in others' lines looks like a secret.
var names = []string{"password=", "password:", "token=", "secret:", "passwd", "--token", "a://b:", "Cookie: a=",
	"x api_key=", `pwd="`, "Bearer", "curl -u a:", "token: x1!",
	"Authorization:", "-----BEGIN PRIVATE KEY-----", "::add-mask::", "sig=", `password="`, "machine a login b password"}

// No name that a job chooses hides a signal of the host, a number or an identity.
func TestNoNameHidesASignal(t *testing.T) {
	b, tried := defaultBook(t), 0
	for _, d := range b.Signals {
		if d.Sources[0].Forgeable() || d.Sources[0] == ingest.Kube {
			continue
		}
		for _, test := range d.Tests {
			test.eachEntry(d.Sources[0], func(e *ingest.Entry) {
				found, _ := b.findSignals(e)
				for _, sig := range found {
					for i, c := range d.captures {
						if sig.Def != d || c.kind != KindString || sig.words[i] == "" {
							continue
						}
						for _, name := range names {
							hostile := *e
							hostile.Text = strings.Replace(e.Text, sig.words[i], name, 1)
							tried += sameAsBefore(t, b, hostile)
						}
					}
				}
			})
		}
	}
	if tried < 400 {
		t.Errorf("only %d lines", tried)
	}
	e := ingest.Entry{Source: ingest.Kernel, Trust: ingest.Attested,
		Text: "password: invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=830"}
	if found := b.Scan(&e); len(found) == 0 || found[0].Str("task") != "password:" {
		t.Errorf("a process called password: hides an OOM: %v", found)
	}
}

func sameAsBefore(t *testing.T, b *Book, e ingest.Entry) int {
	t.Helper()
	was := e
	found, _ := b.findSignals(&was)
	if len(found) == 0 {
		return 0
	}
	if now := b.Scan(&e); !sameFacts(found, now) {
		t.Errorf("%q: %v becomes %v in %q", was.Text, found, now, e.Text)
	}
	return 1
}

// A secret goes out of the fields and the mark of an entry, and what others hold of
// them stays as it is.
func TestFieldsAndMarksAreRedacted(t *testing.T) {
	b := defaultBook(t)
	e := ingest.Entry{Source: ingest.Kube, Trust: ingest.Attested, Fields: map[string]string{"msg": "x",
		"message": "got GITHUB_TOKEN=swordfish", "token": "sword", "pod": "ci/amber"},
		Mark: &ingest.Mark{Kind: ingest.Gap, Why: "lost: password=swordfish"}}
	was := e
	b.Redact(&e)
	if e.Fields["message"] != "got GITHUB_TOKEN=[redacted:token]" || e.Fields["token"] != "[redacted:token]" ||
		e.Fields["pod"] != "ci/amber" || e.Mark.Why != "lost: password=[redacted:password]" {
		t.Errorf("%v %v", e.Fields, e.Mark)
	}
	if was.Fields["token"] != "sword" || was.Mark.Why != "lost: password=swordfish" {
		t.Errorf("shared: %v %v", was.Fields, was.Mark)
	}
	object := ingest.Entry{Source: ingest.Kube, Trust: ingest.Attested, Text: "container terminated",
		Fields: map[string]string{"msg": "container terminated", "pod": "ci/amber", "container": "runner",
			"exit_code": "1", "message": "curl -u a:swordfish https://ci.example"}}
	for _, s := range b.Scan(&object) {
		if all := fmt.Sprint(s.Captures(), object.Fields); strings.Contains(all, "swordfish") ||
			!strings.Contains(all, "exit_code") {
			t.Errorf("%s", all)
		}
	}
}

// A line that was cut does not end with half a secret.
func TestCutLinesEndWithAWord(t *testing.T) {
	b := defaultBook(t)
	for kind, p := range fixtures.Secrets() {
		for at := 1; at < len(p.Line()); at += 1 + len(p.Line())/20 {
			text, cut := logtext.Shorten(fixtures.Filler(ingest.MaxText-at-1, "ab c") + " " + p.Line() + " and more")
			e := ingest.Entry{Text: text, Cut: cut}
			b.Redact(&e)
			if secret := p.Value[:min(len(p.Value), 12)]; strings.Contains(e.Text, secret) && len(p.Value) >= 12 {
				t.Fatalf("%s: a part stays: …%s", kind, e.Text[len(e.Text)-80:])
			}
		}
	}
}

// The last lines of a stream lose a key that was printed line by line.
func TestTailLosesAKey(t *testing.T) {
	b := defaultBook(t)
	var tail []ingest.Entry
	for _, text := range []string{"-----BEGIN PRIVATE KEY-----", fixtures.Filler(64, fixtures.Letters),
		fixtures.Filler(64, fixtures.Capital+fixtures.Letters), fixtures.Filler(30,
			fixtures.Letters) + "==", "-----END PRIVATE KEY-----", "Killed", "GH_TOKEN=swordfish"} {
		tail = append(tail, ingest.Entry{Source: ingest.Runner, Text: text})
	}
	b.RedactTail(tail)
	got := ""
	for _, e := range tail {
		got += e.Text + "|"
	}
	const key = "[redacted:private-key]|"
	if want := "-----BEGIN PRIVATE KEY-----|" +
		key + key + key + "-----END PRIVATE KEY-----|Killed|GH_TOKEN=[redacted:token]|"; got != want {
		t.Errorf("%s", got)
	}
}

// Nothing that a line can hold makes redacting fail, or matter the second time, or
// hide what the host says.
func FuzzRedact(f *testing.F) {
	b := defaultBook(f)
	for _, p := range fixtures.Secrets() {
		f.Add(p.Line(), "x")
		f.Add(fixtures.Filler(20, fixtures.Letters)+p.Line()+p.Line(), p.Value)
	}
	for _, d := range b.Secrets {
		for _, t := range d.Tests {
			f.Add(t.Line, "")
		}
	}
	for i, d := range b.Signals {
		for _, t := range d.Tests {
			f.Add(t.Line+" "+names[i%len(names)], names[i%len(names)])
		}
	}
	f.Fuzz(func(t *testing.T, text, field string) {
		text, _ = logtext.Shorten(strings.ToValidUTF8(text, "?"))
		e := ingest.Entry{Source: ingest.Kernel, Trust: ingest.Attested, Text: text,
			Fields: map[string]string{"message": strings.ToValidUTF8(field, "?")}}
		once := e
		b.Redact(&once)
		twice := once
		b.Redact(&twice)
		if !utf8.ValidString(once.Text) || len(once.Text) > ingest.MaxText || twice.Text != once.Text ||
			twice.Fields["message"] != once.Fields["message"] {
			t.Fatalf("%q\n%q\n%q\n%v %v", text, once.Text, twice.Text, once.Fields, twice.Fields)
		}
		if formed, _ := b.redact.Text(text+field, isSure); formed == text+field {
			sameAsBefore(t, b, e)
		}
	})
}

// BenchmarkRedact is what the look for secrets adds to a line that is a signal.
func BenchmarkRedact(b *testing.B) {
	book := defaultBook(b)
	for _, text := range []string{
		`I0301 10:00:00.000000     812 generic.go:356] "Generic (PLEG): container finished" ` +
			`podID="0a0b0c0d-1111-2222-3333-444455556666" containerID="` + fixtures.Filler(64, fixtures.Hex) +
			`" exitCode=9`,
		"AUTH GITHUB_TOKEN=swordfish https://u:swordfish@ci.example",
		strings.Repeat("password: token: secret: ghp_ eyJ -----BEGIN cookie: ://", 290),
	} {
		b.Run(fmt.Sprint(len(text)), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				book.redact.Text(text, nil)
			}
		})
	}
}
