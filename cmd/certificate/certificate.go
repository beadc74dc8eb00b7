// Package certificate makes a server's certificate, with an authority of its own,
// and keeps it in a folder or in a Secret of Kubernetes.
//
// Invariant: what is kept is whole: the certificate is for the key, and signed by an
// authority in the bundle. The authority's key is kept nowhere, so nobody can sign
// with it. While what is kept is good for the names that are asked for, and for half
// of its time, it stays; a Secret that somebody else made is never written to.
//
// Crash behaviour: what is kept is written in one go, or in a folder file by file
// with the certificate last; made again it is another one.
package certificate

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// Pair is a server's certificate with its key, and the authorities to trust, as PEM.
type Pair struct{ CA, Cert, Key []byte }

// Store keeps a pair.
type Store interface {
	// Load returns what is kept; the zero value if nothing is.
	Load(ctx context.Context) (Pair, error)
	// Save keeps a pair in its place.
	Save(ctx context.Context, p Pair) error
}

// life is how long a certificate is good for.
const life = 10 * 365 * 24 * time.Hour

// Keep sees to it that a store has a certificate for the hosts, names or addresses.
// made says why it made a new one; "" means that the one there is good.
func Keep(ctx context.Context, s Store, hosts []string, now time.Time) (made string, err error) {
	have, err := s.Load(ctx)
	if err != nil {
		return "", err
	}
	if made = have.stale(hosts, now); made == "" {
		return "", nil
	}
	p, err := Make(hosts, now)
	if err != nil {
		return "", err
	}
	p.CA = append(p.CA, have.authorities(now)...) // who trusts the old ones only has time to read the new
	return made, s.Save(ctx, p)
}

// stale says why a pair will not do, "" if it will.
func (p Pair) stale(hosts []string, now time.Time) string {
	if len(p.Cert) == 0 && len(p.Key) == 0 {
		return "there was none"
	}
	pair, err := tls.X509KeyPair(p.Cert, p.Key)
	if err != nil {
		return "the one there cannot be read: " + err.Error()
	}
	if left := pair.Leaf.NotAfter.Sub(now); left < life/2 {
		return "the one there ends " + pair.Leaf.NotAfter.UTC().Format(time.DateOnly)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(p.CA)
	for _, h := range hosts {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: h, Roots: roots, CurrentTime: now}); err != nil {
			return "the one there is not good for " + h + ": " + err.Error()
		}
	}
	return ""
}

// authorities are those of a pair that is replaced, as far as they are still good.
func (p Pair) authorities(now time.Time) (out []byte) {
	for rest := p.CA; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return out
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err == nil && c.NotAfter.After(now) && len(out) < maxOld {
			out = append(out, pem.EncodeToMemory(block)...)
		}
	}
}

// maxOld bounds the bundle: it grows with each that is made anew.
const maxOld = 4096

// Make makes a pair for some hosts, names or addresses.
func Make(hosts []string, now time.Time) (Pair, error) {
	caKey, ca, err := issue(&x509.Certificate{Subject: pkix.Name{CommonName: "coroner authority"}, IsCA: true,
		BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign}, nil, nil, now)
	if err != nil {
		return Pair{}, err
	}
	about := &x509.Certificate{Subject: pkix.Name{CommonName: "coroner"}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			about.IPAddresses = append(about.IPAddresses, ip)
		} else {
			about.DNSNames = append(about.DNSNames, h)
		}
	}
	key, leaf, err := issue(about, ca, caKey, now)
	if err != nil {
		return Pair{}, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Pair{}, err
	}
	text := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	cert := text("CERTIFICATE", leaf.Raw)
	return Pair{CA: text("CERTIFICATE", ca.Raw), Cert: cert, Key: text("PRIVATE KEY", secret)}, nil
}

// issue makes a key and a certificate for it, signed by another or by itself.
func issue(about, by *x509.Certificate, signer crypto.Signer, now time.Time) (crypto.Signer, *x509.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	about.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, nil, err
	}
	about.NotBefore, about.NotAfter = now.Add(-time.Hour), now.Add(life) // clocks differ
	if by == nil {
		by, signer = about, key
	}
	der, err := x509.CreateCertificate(rand.Reader, about, by, key.Public(), signer)
	if err != nil {
		return nil, nil, fmt.Errorf("making a certificate: %w", err)
	}
	made, err := x509.ParseCertificate(der)
	return key, made, err
}
