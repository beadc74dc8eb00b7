package lookup

import (
	"net/http"
	"slices"
	"sync"
	"time"
)

// outgoing are the answers that are being written, and the memory that they take.
// Who reads slowly has a time for each; where all of them would take too much, the
// one gives way that has been written the longest.
type outgoing struct {
	mu      sync.Mutex
	size    int
	writing []*response // the oldest first
}

// response is one of them.
type response struct {
	size int
	conn *http.ResponseController
}

const (
	maxOutgoing = 32 << 20         // bytes of all
	toRead      = 20 * time.Second // for one
)

// write writes an answer, or a part of one.
func (o *outgoing) write(w http.ResponseWriter, data []byte) error {
	p := &response{cap(data), http.NewResponseController(w)}
	o.begin(p)
	defer o.end(p)
	_, err := w.Write(data)
	return err
}

func (o *outgoing) begin(p *response) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_ = p.conn.SetWriteDeadline(time.Now().Add(toRead)) // a test's answer has no connection
	for o.size+p.size > maxOutgoing && len(o.writing) > 0 {
		_ = o.writing[0].conn.SetWriteDeadline(time.Unix(1, 0)) // the same
		o.forget(o.writing[0])
	}
	o.size += p.size
	o.writing = append(o.writing, p)
}

func (o *outgoing) end(p *response) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.forget(p)
}

func (o *outgoing) forget(p *response) {
	if i := slices.Index(o.writing, p); i >= 0 {
		o.writing = slices.Delete(o.writing, i, i+1)
		o.size -= p.size
	}
}
