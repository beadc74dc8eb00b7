package daemon

import (
	"os"
	"slices"

	"coroner/ingest/access"

	"go.yaml.in/yaml/v4"
)

// verified are the settings with which the exporter-toolkit checks the certificates
// that clients show.
var verified = []string{"RequireAndVerifyClientCert", "VerifyClientCertIfGiven"}

// webAuth is what the web configuration asks of every request. It is read at each
// use, as the exporter-toolkit does; a file that cannot be read lets nobody in there.
func (f *Flags) webAuth() (w access.Web) {
	if f.WebConfig == "" {
		return w
	}
	data, err := os.ReadFile(f.WebConfig)
	if err != nil {
		return w
	}
	var c struct {
		TLS struct {
			ClientAuth string `yaml:"client_auth_type"`
		} `yaml:"tls_server_config"`
		Users map[string]string `yaml:"basic_auth_users"`
	}
	if yaml.Unmarshal(data, &c) != nil {
		return w
	}
	return access.Web{Passwords: len(c.Users) > 0, Certs: slices.Contains(verified, c.TLS.ClientAuth)}
}
