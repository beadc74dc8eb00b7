// Package forward opens connections to a port of a pod through the API server, as kubectl
// port-forward does, but without a port of this machine.
//
// Invariant: what is sent reaches the pod alone, as far as the API server and its kubelet do
// what they say; the credentials of the kubeconfig go to the API server, and no further.
//
// Crash behaviour: it keeps no state; a connection ends with the process.
package forward

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport/spdy"
)

// Pod is where connections lead to.
type Pod struct {
	Namespace, Name string
	Port            int
}

// protocol is what is spoken with the API server.
const protocol = "portforward.k8s.io"

// Dialer returns what opens connections to a pod; base is the API server's address.
func Dialer(config *rest.Config, base string, to Pod) func(ctx context.Context, _, _ string) (net.Conn, error) {
	address := base + "/api/v1/namespaces/" + to.Namespace + "/pods/" + to.Name + "/portforward"
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		transport, upgrader, err := spdy.RoundTripperFor(config)
		if err != nil {
			return nil, err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, nil)
		if err != nil {
			return nil, err
		}
		session, spoken, err := spdy.Negotiate(upgrader, &http.Client{Transport: transport}, req, protocol)
		if err != nil {
			return nil, fmt.Errorf("the API server forwards nothing to the pod %s/%s: %w", to.Namespace, to.Name, err)
		}
		if spoken != protocol {
			_ = session.Close()
			return nil, fmt.Errorf("the API server speaks %q", spoken)
		}
		return open(session, to)
	}
}

// open makes the two streams of a connection: one tells what went wrong, one has the bytes.
func open(session httpstream.Connection, to Pod) (net.Conn, error) {
	of := func(kind string) http.Header {
		h := http.Header{}
		h.Set(core.StreamType, kind)
		h.Set(core.PortHeader, strconv.Itoa(to.Port))
		h.Set(core.PortForwardRequestIDHeader, "0")
		return h
	}
	wrong, err := session.CreateStream(of(core.StreamTypeError))
	if err == nil {
		err = wrong.Close() // nothing is written there
	}
	var data httpstream.Stream
	if err == nil {
		data, err = session.CreateStream(of(core.StreamTypeData))
	}
	if err != nil {
		_ = session.Close()
		return nil, fmt.Errorf("no connection through the API server: %w", err)
	}
	c := &conn{Stream: data, session: session, to: to}
	go c.hear(wrong)
	return c, nil
}

// conn is a connection to a pod.
type conn struct {
	httpstream.Stream
	session httpstream.Connection
	to      Pod
	wrong   atomic.Pointer[string]
}

// maxWrong is how much is read of what went wrong.
const maxWrong = 4096

// hear ends the connection when the kubelet says that it has none.
func (c *conn) hear(from io.Reader) {
	said, err := io.ReadAll(io.LimitReader(from, maxWrong))
	if text := string(said); err == nil && text != "" {
		c.wrong.Store(&text)
		_ = c.session.Close()
	}
}

// Read reads what the pod says; its error is what the kubelet says, if it says something.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Stream.Read(b)
	if said := c.wrong.Load(); err != nil && said != nil {
		err = errors.New("port-forward: " + *said)
	}
	return n, err
}

// Close ends the connection.
func (c *conn) Close() error { return errors.Join(c.Reset(), c.session.Close()) }

// LocalAddr is no address of this machine.
func (c *conn) LocalAddr() net.Addr { return address("here") }

// RemoteAddr names the pod.
func (c *conn) RemoteAddr() net.Addr {
	return address(fmt.Sprintf("%s/%s:%d", c.to.Namespace, c.to.Name, c.to.Port))
}

type address string

// Network says what it is an address of.
func (address) Network() string { return "port-forward" }

func (a address) String() string { return string(a) }

// SetDeadline has no effect: who asks has a deadline of the whole request.
func (c *conn) SetDeadline(time.Time) error { return nil }

// SetReadDeadline is as SetDeadline.
func (c *conn) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline is as SetDeadline.
func (c *conn) SetWriteDeadline(time.Time) error { return nil }
