package access

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// Bearer is the token that a request has, "" if none.
func Bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// Local says whether a request comes from this machine: over the loopback, under a
// name of this machine, and not through a proxy that says for whom it asks.
func Local(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && peer.Addr().Unmap().IsLoopback() && !forwarded(r) && localName(r.Host)
}

// forwarded says whether a proxy passed the request on. What it says is not
// believed, only that it is one.
func forwarded(r *http.Request) bool {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via"} {
		if len(r.Header.Values(name)) > 0 {
			return true
		}
	}
	return false
}

// localName says whether a request was for an address or localhost: any other name a
// DNS server elsewhere can point here, and have a browser ask for its own pages.
func localName(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	_, err = netip.ParseAddr(name)
	return err == nil || strings.EqualFold(strings.TrimSuffix(name, "."), "localhost")
}

// Foreign says whether a browser sends the request for a page of another site.
func Foreign(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "cross-site", "same-site":
		return true
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin) // "null" has no host
	return err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host)
}

// browsed says whether somebody looks at a page: what asks shows HTML, and it is not the API's.
func browsed(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/html") && !strings.HasPrefix(r.URL.Path, "/api/")
}
