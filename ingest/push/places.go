package push

import (
	"errors"
	"net"
	"net/http"
	"sync"
)

// places are how many requests are handled at one time, of all clients and of each.
type places struct {
	most, each int

	mu    sync.Mutex
	taken int
	of    map[string]int // client -> how many it has
}

var (
	errBusy   = errors.New("too many pushes at one time")
	errClient = errors.New("too many pushes of one client at one time")
)

func (p *places) takePlace(client string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.taken >= p.most:
		return errBusy
	case p.of[client] >= p.each:
		return errClient
	}
	p.taken++
	p.of[client]++
	return nil
}

func (p *places) leavePlace(client string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken--
	if p.of[client]--; p.of[client] == 0 {
		delete(p.of, client)
	}
}

// remoteAddress is where a request comes from. What it says of itself is not asked: that
// anybody can choose.
func remoteAddress(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
