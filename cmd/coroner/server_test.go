package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"coroner/classify/ledger"
	"coroner/classify/lookup"
	"coroner/rules"

	"github.com/rogpeppe/go-internal/testscript"
)

// fakeServer is what a script asks: the real API over a real ledger, which a
// script fills, shuts and waits for.
type fakeServer struct {
	api    http.Handler
	ledger *ledger.Ledger
	asked  chan struct{} // one for each question that was answered or cut off

	mu   sync.Mutex
	mode string // away: cuts off; shut: lets nobody in without the token; foreign: is another program; else it answers
}

// ServeHTTP answers, or does as the script says.
func (s *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	mode := s.mode
	s.mu.Unlock()
	defer func() {
		select {
		case s.asked <- struct{}{}:
		default:
		}
	}()
	switch {
	case mode == "away":
		panic(http.ErrAbortHandler)
	case mode == "shut" && r.Header.Get("Authorization") != "Bearer sesame":
		w.WriteHeader(http.StatusUnauthorized)
	case mode == "foreign":
		_, _ = w.Write([]byte("<html>"))
	default:
		s.api.ServeHTTP(w, r)
	}
}

// serverKey is under what a script has its server.
type serverKey struct{}

func serverOf(ts *testscript.TestScript) *fakeServer { return ts.Value(serverKey{}).(*fakeServer) }

func withServer(env *testscript.Env) error {
	env.Values[serverKey{}] = &fakeServer{asked: make(chan struct{}, 1)}
	return nil
}

// serverCommand is: server start|back|away|shut|foreign
func serverCommand(ts *testscript.TestScript, _ bool, args []string) {
	s := serverOf(ts)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mode = args[0]
	if args[0] != "start" {
		return
	}
	var err error
	s.ledger, err = ledger.Open(filepath.Join(ts.Getenv("WORK"), "ledger.db"))
	ts.Check(err)
	mux := http.NewServeMux()
	(&lookup.API{Source: s.ledger, Now: time.Now}).Register(mux)
	s.api = mux
	live := httptest.NewServer(s)
	ts.Setenv("CORONER_SERVER", live.URL)
	ts.Defer(func() { live.Close(); _ = s.ledger.Close() })
}

// verdictCommand is: verdict [CLUSTER:]NAMESPACE/RUNNER LABEL [REVISION]. Its runner died at
// 10:00 in the minute and on the node that its name ends with.
func verdictCommand(ts *testscript.TestScript, _ bool, args []string) {
	cluster, whole, named := strings.Cut(args[0], ":")
	if !named {
		cluster, whole = "", args[0]
	}
	ns, name, _ := strings.Cut(whole, "/")
	revision := 1
	if len(args) > 2 {
		revision, _ = strconv.Atoi(args[2])
	}
	number := name[strings.LastIndexByte(name, '-')+1:]
	minute, _ := strconv.Atoi(number)
	died := time.Date(2026, 3, 1, 10, minute, 0, 0, time.UTC)
	v := rules.Verdict{Cluster: cluster, Runner: name, Namespace: ns, Node: "build-" + number,
		Label: rules.Label(args[1]), Confidence: rules.Confirmed, Revision: revision, DiedAt: &died,
		Summary: "It was " + args[1] + ".", Evidence: []rules.EvidenceLine{}, RuledOut: []rules.RuledOut{},
		Open: []rules.OpenLabel{}, Missing: []string{}}
	ts.Check(serverOf(ts).ledger.Write(context.Background(), time.Now(), func(tx *ledger.Tx) error {
		c := ledger.Case{ID: args[0], Cluster: cluster, Namespace: ns, Name: name, Node: v.Node, Runner: true,
			State: ledger.StateJudged, Heard: died}
		return errors.Join(tx.AddVerdict(args[0], &v, time.Now(), false), tx.PutCase(c))
	}))
}

// askedCommand is: asked N. It waits until the server was asked so often more:
// who asks again has shown what it got before.
func askedCommand(ts *testscript.TestScript, _ bool, args []string) {
	s, n := serverOf(ts), 0
	for want, _ := strconv.Atoi(args[0]); n < want; n++ {
		select {
		case <-s.asked:
		case <-time.After(time.Minute):
			ts.Fatalf("the server was asked %d times, not %s", n, args[0])
		}
	}
}
