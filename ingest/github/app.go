package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"coroner/ingest/forge"

	"github.com/golang-jwt/jwt/v5"
)

// App is a GitHub App as it is installed in one place. Its Token is one of that installation,
// renewed before it expires. Its fields are set before its first use.
type App struct {
	URL              string // as that of a Client
	ID, Installation string
	Key              func() (string, error) // its private key, PEM
	HTTP             *http.Client
	Now              func() time.Time

	mu      sync.Mutex // guards what follows
	token   string
	expires time.Time
}

// What a signed request of an App's may last: GitHub allows ten minutes, and its clock can be
// behind.
const (
	clockSkew = time.Minute
	lifetime  = 8 * time.Minute
	renewal   = 5 * time.Minute // before the end
)

// Token is the installation's token.
func (a *App) Token() (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.token != "" && a.Now().Add(renewal).Before(a.expires) {
		return a.token, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var out struct {
		Token   string    `json:"token"`
		Expires time.Time `json:"expires_at"`
	}
	asking := NewClient(a.URL, a.sign, a.HTTP, a.Now)
	err := asking.Send(ctx, http.MethodPost, "/app/installations/"+a.Installation+"/access_tokens", nil, &out)
	if err == nil && out.Token == "" {
		err = errors.New("its answer holds no token")
	}
	if refused, is := errors.AsType[forge.Refused](err); is { // of the App, not of what the token is for
		err = fmt.Errorf("installation %s: %s", a.Installation, refused.Error())
	}
	if err != nil {
		return "", fmt.Errorf("GitHub App %s: %w", a.ID, err)
	}
	a.token, a.expires = out.Token, out.Expires
	return a.token, nil
}

// Check says whether the private key can be read.
func (a *App) Check() error {
	_, err := a.sign()
	return err
}

// sign makes what proves that the request is the App's.
func (a *App) sign() (string, error) {
	text, err := a.Key()
	if err != nil {
		return "", err
	}
	key, err := jwt.ParseRSAPrivateKeyFromPEM([]byte(text))
	if err != nil {
		return "", fmt.Errorf("GitHub App's private key: %w", err)
	}
	now := a.Now()
	return jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.RegisteredClaims{
		Issuer:    a.ID,
		IssuedAt:  jwt.NewNumericDate(now.Add(-clockSkew)),
		ExpiresAt: jwt.NewNumericDate(now.Add(lifetime)),
	}).SignedString(key)
}
