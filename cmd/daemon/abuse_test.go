package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Many who ask for a reload at one time share one, what did not change is not read
// again, and what changed again has to wait; a mistake is told to everybody.
func TestReloadsAreFew(t *testing.T) {
	d := newDaemon(t, nil)
	var loads atomic.Int32
	var content atomic.Value
	mistake := errors.New("a mistake")
	content.Store("a")
	d.Content = func() (string, error) { return content.Load().(string), nil }
	d.Reload = func() error {
		loads.Add(1)
		if content.Load() == "b" {
			return mistake
		}
		return nil
	}
	ask := func(want, n int) {
		t.Helper()
		var all sync.WaitGroup
		for range 200 {
			all.Go(func() {
				w := request(d.Mux, "POST", "/-/reload")
				if after := w.Header().Get("Retry-After"); w.Code != want ||
					(after != "") != (want == http.StatusTooManyRequests) {
					t.Errorf("%s: %d, Retry-After %q, want %d", content.Load(), w.Code, after, want)
				}
			})
		}
		if all.Wait(); int(loads.Load()) != n {
			t.Errorf("%s: %d loads, want %d", content.Load(), loads.Load(), n)
		}
	}
	ask(http.StatusOK, 1)
	content.Store("b")
	ask(http.StatusTooManyRequests, 1)
	d.reloads.last = time.Now().Add(-ReloadEvery)
	ask(http.StatusInternalServerError, 2)
	content.Store("a")
	d.reloads.last = time.Now().Add(-ReloadEvery)
	ask(http.StatusOK, 3)
}

// Who waited while something was read that he could not know of yet gets what
// there is now.
func TestAReloadIsNotOfBefore(t *testing.T) {
	d := newDaemon(t, nil)
	in, out := make(chan struct{}), make(chan struct{})
	var loads atomic.Int32
	d.Reload = func() error {
		if loads.Add(1) == 1 {
			close(in)
			<-out
		}
		return nil
	}
	first := make(chan error)
	go func() { first <- d.reloadNow() }()
	<-in
	second := make(chan error)
	go func() { second <- d.reloadNow() }() // what the first one reads may be older
	close(out)
	if err := errors.Join(<-first, <-second); err != nil || loads.Load() != 2 {
		t.Errorf("%d loads: %v", loads.Load(), err)
	}
}

// Who opens connections and does nothing, or sends slowly, keeps nobody out.
func TestConnectionsGiveWay(t *testing.T) {
	const most = 8
	d := newDaemon(t, func(f *Flags) { f.MaxConns = most })
	started := make(chan struct{})
	ended := run(t, d, t.Context(), func(ctx context.Context) error {
		close(started)
		<-ctx.Done()
		return nil
	})
	defer func() {
		select {
		case err := <-ended:
			t.Error(err)
		default:
		}
	}()
	<-started
	var slow []net.Conn
	for i := range 5 * most {
		c, err := net.Dial("tcp", d.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if i%2 == 0 {
			fmt.Fprint(c, "GET /-/healthy HTTP/1.1\r\nHost: x\r\nX-Slow: ")
		}
		slow = append(slow, c)
	}
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for range 3 {
		if _, body, err := fetch(client, "http://"+d.Addr()+"/-/healthy"); err != nil || body != "healthy\n" {
			t.Fatalf("%q %v", body, err)
		}
	}
	_ = slow[0].SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.ReadAll(slow[0]); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the first one is open still: %v", err)
	}
}
