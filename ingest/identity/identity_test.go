package identity

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"coroner/ingest/access"
	"coroner/ingest/push"

	"github.com/rs/zerolog"
	review "k8s.io/api/authentication/v1"
	"k8s.io/client-go/rest"
)

// api is an API server that reviews tokens.
type api struct {
	t *testing.T
	*Reviewer
	now    time.Time
	answer func(*review.TokenReview) int // fills in the status and returns the code

	mu    sync.Mutex
	asked int
}

func newAPI(t *testing.T) *api {
	a := &api{t: t, now: time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	r, err := New(&rest.Config{Host: server.URL, BearerToken: "the server's own"}, Options{Cluster: "blue",
		Accounts: []string{"coroner/coroner-agent"}, Now: func() time.Time { return a.now }, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	a.Reviewer = r
	a.answer = func(t *review.TokenReview) int { t.Status = status(); return http.StatusCreated }
	return a
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.asked++
	a.mu.Unlock()
	var t review.TokenReview
	err := json.NewDecoder(r.Body).Decode(&t)
	asked := fmt.Sprint(r.Method, r.URL.Path, " ", t.Kind, t.Spec.Audiences, r.Header.Get("Authorization"))
	const want = "POST/apis/authentication.k8s.io/v1/tokenreviews TokenReview[coroner]Bearer the server's own"
	if asked != want || err != nil {
		a.t.Errorf("%s %s %v %+v %v", r.Method, r.URL, r.Header, t, err)
	}
	w.WriteHeader(a.answer(&t))
	_ = json.NewEncoder(w).Encode(t)
}

type said = review.TokenReviewStatus

// status is what the API server says of the token of the agent on n1.
func status() review.TokenReviewStatus {
	return review.TokenReviewStatus{Authenticated: true, Audiences: []string{"coroner"}, User: review.UserInfo{
		Username: "system:serviceaccount:coroner:coroner-agent",
		Extra:    map[string]review.ExtraValue{nodeKey: {"n1"}, podKey: {"coroner-agent-x"}, podUIDKey: {"u"}}}}
}

// token is one that says of itself what the agent's does, changed by more.
func (a *api) token(more map[string]any) string {
	claims := map[string]any{"aud": []string{"coroner"}, "sub": userPrefix + "coroner:coroner-agent",
		"exp": a.now.Add(time.Hour).Unix()}
	for k, v := range more {
		claims[k] = v
	}
	data, err := json.Marshal(claims)
	if err != nil {
		a.t.Fatal(err)
	}
	return "e30." + base64.RawURLEncoding.EncodeToString(data) + ".c2ln"
}

// says is what a review comes to: the node, or which kind of error.
func (a *api) says(token string) string {
	id, err := a.Review(context.Background(), token)
	var denied access.Denied
	var not access.Forbidden
	switch {
	case errors.As(err, &denied):
		return "denied"
	case errors.As(err, &not):
		return "forbidden " + not.Reason
	case err != nil:
		return "later"
	case id != push.Identity{Cluster: "blue", Node: id.Node, Agent: true}:
		return fmt.Sprint(id)
	}
	return id.Node
}

// An identity is what the API server says, whole; what it does not say is no agent.
func TestWhatTheAPIServerSays(t *testing.T) {
	for _, tt := range []struct {
		what   string
		change func(*said)
		want   string
	}{
		{"the agent's", func(*said) {}, "n1"},
		{"not known", func(s *said) { s.Authenticated = false }, "denied"},
		{"another audience", func(s *said) { s.Audiences = []string{"vault"} }, "denied"},
		{"an API server that knows no audiences", func(s *said) { s.Audiences = nil }, "denied"},
		{"another account", func(s *said) { s.User.Username = userPrefix + "coroner:default" }, "forbidden credential"},
		{"another namespace", func(s *said) { s.User.Username = userPrefix + "ci:coroner-agent" },
			"forbidden credential"},
		{"a user of that name", func(s *said) { s.User.Username = "coroner/coroner-agent" }, "forbidden credential"},
		{"no node", func(s *said) { delete(s.User.Extra, nodeKey) }, "forbidden credential"},
		{"bound to a node only", func(s *said) { delete(s.User.Extra, podKey) }, "forbidden credential"},
		{"no pod's UID", func(s *said) { delete(s.User.Extra, podUIDKey) }, "forbidden credential"},
		{"two nodes", func(s *said) { s.User.Extra[nodeKey] = review.ExtraValue{"n1", "n2"} }, "forbidden credential"},
	} {
		a := newAPI(t)
		a.answer = func(t *review.TokenReview) int {
			t.Status = status()
			tt.change(&t.Status)
			return http.StatusCreated
		}
		if got := a.says(a.token(nil)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.what, got, tt.want)
		}
	}
}

// What a token says of itself can only have it refused, and then nobody is asked.
func TestWhatATokenSaysOfItself(t *testing.T) {
	a := newAPI(t)
	long := a.token(map[string]any{"x": strings.Repeat("x", maxToken)})
	for _, tt := range []struct {
		what, token, want string
	}{
		{"nothing", "", "denied"},
		{"no token of that kind", "s3cret", "denied"},
		{"two dots", "a.b.c", "denied"},
		{"no JSON", "e30.bm9uZQ.x", "denied"},
		{"too long", long, "denied"},
		{"another audience", a.token(map[string]any{"aud": []string{"https://kubernetes.default.svc"}}), "denied"},
		{"no audience", a.token(map[string]any{"aud": nil}), "denied"},
		{"a number", a.token(map[string]any{"aud": 7}), "denied"},
		{"expired", a.token(map[string]any{"exp": a.now.Unix()}), "denied"},
		{"without an end", a.token(map[string]any{"exp": nil}), "denied"},
		{"another account", a.token(map[string]any{"sub": userPrefix + "coroner:default"}), "forbidden credential"},
		{"a longer account", a.token(map[string]any{"sub": userPrefix + "coroner:coroner-agent:x"}),
			"forbidden credential"},
	} {
		if got := a.says(tt.token); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.what, got, tt.want)
		}
	}
	if a.asked > 0 {
		t.Errorf("the API server was asked %d times", a.asked)
	}
	for _, audience := range []any{"coroner", []string{"vault", "coroner"}} {
		if got := a.says(a.token(map[string]any{"aud": audience})); got != "n1" {
			t.Errorf("a token for coroner: %s", got)
		}
	}
}

// An answer holds for a while, a refusal for a shorter one, and never longer than
// the token; that there is none is not remembered.
func TestAnswersHoldForAWhile(t *testing.T) {
	a := newAPI(t)
	step := func(what string, token, want string, asked int) {
		t.Helper()
		before := a.asked
		if got := a.says(token); got != want || a.asked-before != asked {
			t.Errorf("%s: %s, asked %d times, want %s, %d", what, got, a.asked-before, want, asked)
		}
	}
	agents, short := a.token(nil), a.token(map[string]any{"exp": a.now.Add(30 * time.Second).Unix()})
	step("first", agents, "n1", 1)
	step("again", agents, "n1", 0)
	step("one that soon ends", short, "n1", 1)
	a.now = a.now.Add(31 * time.Second)
	step("after its end", short, "denied", 0)
	step("half a minute later", agents, "n1", 0)
	a.answer = func(*review.TokenReview) int { return http.StatusInternalServerError }
	a.now = a.now.Add(goodFor)
	step("when the API server is away", agents, "later", 1)
	step("and once more", agents, "later", 1)
	a.answer = func(t *review.TokenReview) int { return http.StatusForbidden }
	step("when the server may not ask", agents, "later", 1)
	a.answer = func(t *review.TokenReview) int { return http.StatusCreated }
	step("when it is not good any more", agents, "denied", 1)
	step("at once again", agents, "denied", 0)
	a.now = a.now.Add(badFor)
	step("later", agents, "denied", 1)
}

// Many pushes with one token are one question; a flood of tokens is not one of
// questions, and pushes nobody out who is known.
func TestFewQuestions(t *testing.T) {
	a := newAPI(t)
	agents := a.token(nil)
	hold, holding := make(chan struct{}), make(chan struct{}, 1000)
	a.answer = func(t *review.TokenReview) int {
		holding <- struct{}{}
		<-hold
		t.Status = status()
		return http.StatusCreated
	}
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if got := a.says(agents); got != "n1" {
				t.Errorf("one of many: %s", got)
			}
		})
	}
	<-holding
	for i := range maxAsking - 1 {
		all.Go(func() { a.says(a.token(map[string]any{"jti": i})) })
	}
	for range maxAsking - 1 {
		<-holding
	}
	for i := range 100 {
		if got := a.says(a.token(map[string]any{"jti": fmt.Sprint("more", i)})); got != "later" {
			t.Errorf("one too many: %s", got)
		}
	}
	close(hold)
	all.Wait()
	if a.asked > maxAsking+49 { // who came when the first answer was there is not asked for
		t.Errorf("%d questions", a.asked)
	}
	a.answer = func(*review.TokenReview) int { return http.StatusCreated } // it knows none of them
	for i := range 2 * maxBad {
		a.says(a.token(map[string]any{"jti": -i}))
	}
	before := a.asked
	if got := a.says(agents); got != "n1" || a.asked != before {
		t.Errorf("after the flood: %s", got)
	}
}

// FuzzClaims: no token makes the reader of claims panic, or believe it.
func FuzzClaims(f *testing.F) {
	a := &Reviewer{options: Options{Accounts: []string{"coroner/coroner-agent"}}}
	now := time.Unix(1_900_000_000, 0)
	f.Add(`{"aud":["coroner"],"sub":"system:serviceaccount:coroner:coroner-agent","exp":1900000001}`)
	f.Add(`{"aud":"coroner","exp":1e400}`)
	f.Fuzz(func(t *testing.T, payload string) {
		c, err := a.readClaims("e30."+base64.RawURLEncoding.EncodeToString([]byte(payload))+".x", now)
		if err == nil && (!c.endOfLife().After(now) || c.Subject != "system:serviceaccount:coroner:coroner-agent") {
			t.Errorf("%q: %+v", payload, c)
		}
	})
}
