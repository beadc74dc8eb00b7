// Package identity says which node's agent a service-account token is: it has the
// Kubernetes API review the token, and takes the node from what the API binds to it.
//
// Invariant: an identity is given only for a token that the API server called good
// for coroner's audience, of an account that the operator named, bound to a pod on a
// node. What a token says of itself is used to refuse it, never to believe it.
//
// Crash behaviour: answers are remembered for two minutes and in memory only; a new
// reviewer asks again. While the API server is away nobody new is let in.
package identity

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"coroner/ingest/access"
	"coroner/ingest/kubehttp"
	"coroner/ingest/push"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/rs/zerolog"
	"golang.org/x/sync/singleflight"
	review "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// Audience is what an agent's token must be for.
const Audience = "coroner"

// What the API server says of a token beside its user, since Kubernetes 1.30.
const (
	nodeKey   = "authentication.kubernetes.io/node-name"
	podKey    = "authentication.kubernetes.io/pod-name"
	podUIDKey = "authentication.kubernetes.io/pod-uid"
)

// Options say whose tokens are reviewed.
type Options struct {
	Cluster  string   // that the API server is of; "" = the server's own
	Accounts []string // service accounts of agents, as NAMESPACE/NAME
	Now      func() time.Time
	Log      zerolog.Logger
}

// Reviewer asks one API server. It is safe for concurrent use.
type Reviewer struct {
	options Options
	url     string
	client  *http.Client

	good    *lru.Cache[hash, answer] // only tokens that are good, so that others push none of them out
	bad     *lru.Cache[hash, answer]
	asking  singleflight.Group
	places  chan struct{} // one for each question under way
	mu      sync.Mutex    // guards trouble
	trouble string        // why the API server did not answer, as it was logged
}

type hash = [sha256.Size]byte

// answer is what was said of a token, and how long it holds.
type answer struct {
	id    push.Identity
	err   error
	until time.Time
}

// How long an answer holds, how many are remembered, how many questions are under
// way at one time, and how long one may take.
const (
	goodFor   = 2 * time.Minute
	badFor    = 10 * time.Second
	maxGood   = 16_384
	maxBad    = 4096
	maxAsking = 16
	askTime   = 5 * time.Second
	maxAnswer = 1 << 20
)

// New returns a reviewer; it asks nothing yet.
func New(config *rest.Config, o Options) (*Reviewer, error) {
	client, base, err := kubehttp.New(config)
	if err != nil {
		return nil, err
	}
	r := &Reviewer{
		options: o,
		url:     base.JoinPath("/apis/authentication.k8s.io/v1/tokenreviews").String(),
		client:  client,
		places:  make(chan struct{}, maxAsking),
	}
	r.good, _ = lru.New[hash, answer](maxGood) // an error only for a size below 1
	r.bad, _ = lru.New[hash, answer](maxBad)
	return r, nil
}

// Review implements access.Reviewer.
func (r *Reviewer) Review(ctx context.Context, token string) (push.Identity, error) {
	now := r.options.Now()
	c, err := r.readClaims(token, now)
	if err != nil {
		return push.Identity{}, err
	}
	key := sha256.Sum256([]byte(token))
	for _, known := range []*lru.Cache[hash, answer]{r.good, r.bad} {
		if a, ok := known.Get(key); ok && now.Before(a.until) {
			return a.id, a.err
		}
	}
	a, err := r.askOnce(ctx, key, token)
	if err != nil {
		return push.Identity{}, err
	}
	if a.err != nil {
		a.until = now.Add(badFor)
		r.bad.Add(key, a)
		return push.Identity{}, a.err
	}
	if a.until = now.Add(goodFor); c.endOfLife().Before(a.until) {
		a.until = c.endOfLife()
	}
	r.good.Add(key, a)
	return a.id, nil
}

// askOnce asks the API server, one question for all who want to know of a token.
func (r *Reviewer) askOnce(ctx context.Context, key hash, token string) (answer, error) {
	done := r.asking.DoChan(string(key[:]), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
		defer cancel()
		return r.askReview(ctx, token)
	})
	select {
	case <-ctx.Done():
		return answer{}, ctx.Err()
	case res := <-done:
		a, _ := res.Val.(answer)
		return a, res.Err
	}
}

// errBusy asks to come again: a flood of tokens must not become one of questions.
var errBusy = errors.New("too many new tokens are being reviewed; try again")

func (r *Reviewer) askReview(ctx context.Context, token string) (answer, error) {
	select {
	case r.places <- struct{}{}:
		defer func() { <-r.places }()
	default:
		return answer{}, errBusy
	}
	t, err := r.postReview(ctx, token)
	r.noteOutcome(err)
	if err != nil {
		return answer{}, errors.New("the Kubernetes API does not say whether the token is good; try again")
	}
	id, err := r.identity(t)
	return answer{id: id, err: err}, nil
}

// postReview has a token reviewed.
func (r *Reviewer) postReview(ctx context.Context, token string) (*review.TokenReview, error) {
	t := &review.TokenReview{Spec: review.TokenReviewSpec{Token: token, Audiences: []string{Audience}}}
	t.TypeMeta = metav1.TypeMeta{Kind: "TokenReview", APIVersion: review.SchemeGroupVersion.String()}
	body, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	res, err := r.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err == nil && res.StatusCode/100 != 2 {
		err = fmt.Errorf("it answers %s: %.200s", res.Status, data)
	}
	if err != nil {
		return nil, err
	}
	t = &review.TokenReview{}
	return t, json.Unmarshal(data, t)
}

// noteOutcome logs how a question went, where that changed.
func (r *Reviewer) noteOutcome(err error) {
	text := ""
	var away *url.Error
	if errors.As(err, &away) { // the address in it is of no interest
		err = away.Err
	}
	if err != nil {
		text = err.Error()
	}
	r.mu.Lock()
	was := r.trouble
	r.trouble = text
	r.mu.Unlock()
	log := r.options.Log.With().Str("cluster", r.options.Cluster).Logger()
	switch {
	case err != nil && text != was:
		log.Error().
			Err(err).
			Msg("agents' tokens cannot be reviewed: the server's account needs to create tokenreviews " +
				"(the ClusterRole system:auth-delegator has it); agents send again")
	case err == nil && was != "":
		log.Info().Msg("agents' tokens are reviewed again")
	}
}

// identity is whose token was reviewed.
func (r *Reviewer) identity(t *review.TokenReview) (push.Identity, error) {
	s := &t.Status
	switch {
	case !s.Authenticated:
		return push.Identity{}, access.Denied{Text: "the Kubernetes API does not know the token, or it has expired"}
	case !slices.Contains(s.Audiences, Audience):
		return push.Identity{}, access.Denied{Text: "the token is not for the audience " + Audience}
	}
	if err := r.checkAccount(s.User.Username); err != nil {
		return push.Identity{}, err
	}
	one := func(key string) string {
		if v := s.User.Extra[key]; len(v) == 1 {
			return v[0]
		}
		return ""
	}
	if one(nodeKey) == "" || one(podKey) == "" || one(podUIDKey) == "" {
		return push.Identity{}, access.Forbidden{
			Reason: "credential",
			Text: "the token is bound to no pod on a node: " +
				"mount it as a projected serviceAccountToken, on Kubernetes 1.30 or later",
		}
	}
	return push.Identity{Cluster: r.options.Cluster, Node: one(nodeKey), Agent: true}, nil
}

const userPrefix = "system:serviceaccount:"

// checkAccount says why a user is no agent.
func (r *Reviewer) checkAccount(user string) error {
	name, ok := strings.CutPrefix(user, userPrefix)
	if name = strings.Replace(name, ":", "/", 1); ok && slices.Contains(r.options.Accounts, name) {
		return nil
	}
	text := fmt.Sprintf("%.300q is no account of agents (--push.agent-account)", user)
	return access.Forbidden{Reason: "credential", Text: text}
}
