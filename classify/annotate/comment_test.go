package annotate

import (
	"fmt"
	"strings"
	"testing"

	"coroner/fixtures/githubapi"
	"coroner/rules"
)

// A commit's pull request has one comment, with a section for each job, which revisions edit.
func TestComment(t *testing.T) {
	s := newScene(t, Comment)
	s.put(func(*rules.Verdict) {})
	s.flush()
	s.put(second(rules.NodeShutdown))
	if len(s.Comments) != 1 || strings.Count(s.Comments[0].Body, "<!-- end -->") != 1 ||
		strings.Contains(s.Comments[0].Body, "host-teardown") {
		t.Errorf("%+v", s.Comments)
	}
	for _, lack := range []string{"@everybody", "](https://evil", "<img", "[x](", "@all"} {
		if strings.Contains(s.Sent.String(), lack) {
			t.Errorf("%q of a log is in the request", lack)
		}
	}
	golden(t, "comment", s.Sent.String())
}

// Two jobs of one commit share its comment; what is there already is not said again.
func TestSections(t *testing.T) {
	const job = "build"
	one := annotation{id: "a", revision: 2, title: "one", body: "first"}
	body, changed := withSection("", job, one)
	if !changed {
		t.Fatal("nothing is said")
	}
	two := annotation{id: "b", revision: 1, title: "two", body: "second"}
	body, _ = withSection(body, job, two)
	if again, changed := withSection(body, job, two); changed || again != body {
		t.Errorf("said again: %s", again)
	}
	if _, changed := withSection(body, job, annotation{id: "a", revision: 1, title: "old"}); changed {
		t.Error("an earlier revision replaces a later one")
	}
	if _, changed := withSection(body, job, annotation{id: "c", revision: 3, withdrawn: true}); changed {
		t.Error("what was never said is withdrawn")
	}
	one.revision, one.title = 3, "three"
	body, changed = withSection(body, job, one)
	if !changed || strings.Contains(body, "**one**") || !strings.Contains(body, "**three**") ||
		strings.Index(body, "**three**") > strings.Index(body, "**two**") || strings.Count(body, "<!-- end -->") != 2 {
		t.Errorf("%v: %s", changed, body)
	}
	for i := range 100 {
		body, _ = withSection(body, job, annotation{id: fmt.Sprint(i), revision: 1, body: strings.Repeat("x", 5000)})
	}
	if len(body) > 65536 || !strings.HasSuffix(body, furtherJobs) || strings.Count(body, furtherJobs) != 1 {
		t.Errorf("%d bytes, ends with %.60s", len(body), body[len(body)-60:])
	}
}

// strangers is a comment that somebody else wrote.
func strangers(id int, body string) githubapi.Comment {
	return githubapi.Comment{ID: int64(id), Body: body, User: &githubapi.Account{ID: 6}}
}

// Who copies coroner's marks into a comment of their own keeps nothing from being said, and
// their comment stays as it is: for an App and for a token.
func TestStrangersComment(t *testing.T) {
	for _, app := range []string{"77", ""} {
		s := newScene(t, Comment)
		s.a.App = app
		s.put(func(*rules.Verdict) {})
		mine := s.Comments[0]
		copied := strangers(1, strings.Replace(mine.Body, " 1 -->", " 999 -->", 1))
		s.Comments = []githubapi.Comment{copied}
		s.put(second(rules.NodeShutdown))
		if len(s.Comments) != 2 || s.Comments[0].Body != copied.Body ||
			!strings.Contains(s.Comments[1].Body, "node-shutdown") {
			t.Errorf("App %q: %+v", app, s.Comments)
		}
	}
}

// Where a commit has two comments of coroner's, because the first was too old to be looked at,
// a revision goes to the one that has its section.
func TestTwoCommentsOfACommit(t *testing.T) {
	s := newScene(t, Comment)
	s.put(func(*rules.Verdict) {})
	other := s.Comments[0]
	other.Body = ofCommit(sha) + "<!-- coroner 0123456789abcdef01234567 1 -->\nanother job\n<!-- end -->"
	s.Comments = []githubapi.Comment{other, s.Comments[0]}
	s.Comments[1].ID = 2
	s.put(second(rules.NodeShutdown))
	body := s.Comments[1].Body
	if len(s.Comments) != 2 || s.Comments[0].Body != other.Body || !strings.Contains(body, "node-shutdown") ||
		strings.Count(body, "<!-- end -->") != 1 {
		t.Errorf("%+v", s.Comments)
	}
}

// Coroner's comment is found behind others, and where it cannot be, none is made.
func TestManyComments(t *testing.T) {
	s := newScene(t, Comment)
	for i := range 150 {
		s.Comments = append(s.Comments, strangers(i+1, "ship it"))
	}
	s.put(func(*rules.Verdict) {})
	s.put(second(rules.NodeShutdown))
	if len(s.Comments) != 151 {
		t.Errorf("%d comments, want 151", len(s.Comments))
	}
	s = newScene(t, Comment)
	for i := range perPage * maxPages {
		s.Comments = append(s.Comments, strangers(i+1, "ship it"))
	}
	s.put(func(*rules.Verdict) {})
	if len(s.Comments) != perPage*maxPages {
		t.Error("a comment is made though an earlier one may be there")
	}
}
