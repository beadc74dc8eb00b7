package outlet

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"coroner/cmd/daemon"
	"coroner/ingest/push"
)

// Publish says which Loki gets the verdicts.
type Publish struct {
	Loki       string        `name:"loki.url" help:"${serve_loki_url}" placeholder:"URL"`
	LokiTenant string        `name:"loki.tenant" help:"X-Scope-OrgID." placeholder:"ID"`
	LokiUser   string        `name:"loki.user" help:"${serve_loki_user}" placeholder:"NAME"`
	LokiToken  string        `name:"loki.token-file" help:"File with the token for Loki." placeholder:"FILE"`
	LokiWindow time.Duration `name:"loki.out-of-order-window" help:"${serve_loki_window}" default:"${loki_window}"`
}

// Check refuses values that no run could use.
func (f *Publish) Check() (err error) {
	if f.Loki != "" {
		err = daemon.CheckURL("loki.url", f.Loki, "http://HOST:PORT")
	}
	return errors.Join(err, daemon.CheckToken("loki.token-file", f.LokiToken),
		daemon.CheckNumber("loki.out-of-order-window", f.LokiWindow))
}

// Sender sends verdicts to the Loki.
func (f *Publish) Sender() *push.Sender {
	return &push.Sender{
		URL:    strings.TrimRight(f.Loki, "/") + push.Path,
		Tenant: f.LokiTenant,
		User:   f.LokiUser,
		Token:  daemon.Token(f.LokiToken),
		Client: &http.Client{Timeout: 30 * time.Second},
	}
}
