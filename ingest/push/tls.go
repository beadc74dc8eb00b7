package push

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"
)

// TLS says whom a client trusts and what it shows. The files are read again when
// they change: certificates are renewed. The zero value trusts the system's
// authorities and shows nothing.
type TLS struct {
	CA, Cert, Key string // PEM files; Cert and Key together or neither
	Name          string // that the server's certificate must be for; "" = the address's
}

// Transport returns a transport for a client; an error says which file is no good.
func (f TLS) Transport() (http.RoundTripper, error) {
	t := &transport{files: f}
	if f.Cert != "" || f.Key != "" {
		if _, err := tls.LoadX509KeyPair(f.Cert, f.Key); err != nil {
			return nil, fmt.Errorf("the client certificate: %w", err)
		}
	}
	return t, t.renewRoots()
}

// transport is one that knows when its authorities changed.
type transport struct {
	files TLS

	mu      sync.Mutex // guards what follows
	changed time.Time  // when the CA file was, that is in use
	current *http.Transport
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.mu.Lock()
	_ = t.renewRoots() // else those that are in use stay
	current := t.current
	t.mu.Unlock()
	return current.RoundTrip(r)
}

// renewRoots begins anew with the authorities of a file that changed.
func (t *transport) renewRoots() error {
	changed := time.Time{}
	if t.files.CA != "" {
		info, err := os.Stat(t.files.CA)
		if err != nil {
			return fmt.Errorf("the authorities: %w", err)
		}
		changed = info.ModTime()
	}
	if t.current != nil && changed.Equal(t.changed) {
		return nil
	}
	conf, err := t.files.tlsConfig()
	if err != nil {
		return err
	}
	if t.current != nil {
		t.current.CloseIdleConnections()
	}
	t.current, t.changed = http.DefaultTransport.(*http.Transport).Clone(), changed
	t.current.TLSClientConfig = conf
	return nil
}

func (f TLS) tlsConfig() (*tls.Config, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: f.Name}
	if f.CA != "" {
		pem, err := os.ReadFile(f.CA)
		if err != nil {
			return nil, fmt.Errorf("the authorities: %w", err)
		}
		if conf.RootCAs = x509.NewCertPool(); !conf.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("the authorities: no certificate in %s", f.CA)
		}
	}
	if f.Cert != "" {
		conf.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
			return &pair, err
		}
	}
	return conf, nil
}
