package identity

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"coroner/ingest/access"
)

// claims are what a token says of itself. Anybody can write them, so they only spare
// a question whose answer is known.
type claims struct {
	Audience audiences `json:"aud"`
	Subject  string    `json:"sub"`
	Expiry   int64     `json:"exp"` // seconds since 1970
}

// audiences are one or a list.
type audiences []string

// UnmarshalJSON implements json.Unmarshaler.
func (a *audiences) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*a = audiences{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(a))
}

func (c *claims) endOfLife() time.Time { return time.Unix(c.Expiry, 0) }

// maxToken is far above what the API server issues.
const maxToken = 16 << 10

// readClaims reads a token and refuses one that no review could make an agent's.
func (r *Reviewer) readClaims(token string, now time.Time) (c claims, err error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 || len(token) > maxToken {
		return c, access.Denied{Text: "this is no service-account token"}
	}
	data, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	switch {
	case err != nil:
		return c, access.Denied{Text: "this is no service-account token"}
	case !slices.Contains(c.Audience, Audience):
		return c, access.Denied{Text: "the token is not for the audience " + Audience}
	case !c.endOfLife().After(now):
		return c, access.Denied{Text: "the token has expired"}
	}
	return c, r.checkAccount(c.Subject)
}
