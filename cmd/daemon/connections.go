package daemon

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// connections are those of the endpoints. There may be so many; beyond, one is
// closed for each that comes: who has been idle the longest, else who has been at
// one request the longest. So nobody who sends or reads slowly keeps others out.
type connections struct {
	most int // 0 = any number

	mu  sync.Mutex
	all map[net.Conn]phase
}

// phase is what a connection is doing, and since when.
type phase struct {
	idle  bool
	since time.Time
}

// noteState notes what became of a connection; it is a http.Server's ConnState.
func (c *connections) noteState(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateClosed, http.StateHijacked:
		delete(c.all, conn)
		return
	case http.StateNew:
		for c.most > 0 && len(c.all) >= c.most {
			c.closeOne()
		}
	}
	if _, known := c.all[conn]; known || state == http.StateNew {
		c.all[conn] = phase{state == http.StateIdle, time.Now()}
	}
}

// closeOne closes the one that is least of a loss.
func (c *connections) closeOne() {
	var victim net.Conn
	var worst phase
	for conn, p := range c.all {
		if victim == nil || p.idle && !worst.idle || p.idle == worst.idle && p.since.Before(worst.since) {
			victim, worst = conn, p
		}
	}
	delete(c.all, victim)
	// A client that does not read may hold up the close. Its request fails, and is counted
	// where it is handled.
	go victim.Close()
}
