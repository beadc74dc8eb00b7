package push

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"coroner/ingest"

	"github.com/grafana/loki/pkg/push"
	"github.com/klauspost/compress/snappy"
	"google.golang.org/protobuf/encoding/protowire"
)

// repeated is a message's field n times, with what is in it.
func repeated(number protowire.Number, value []byte, n int) []byte {
	one := protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), value)
	return bytes.Repeat(one, n)
}

// encoded is an encoded push request of one stream with those fields.
func encoded(fields ...[]byte) []byte {
	s := repeated(1, []byte(`{a="b"}`), 1)
	return repeated(1, append(s, bytes.Join(fields, nil)...), 1)
}

// protobuf and zipped are requests with such a body.
func protobuf(data []byte) *http.Request {
	req := httptest.NewRequest(http.MethodPost, Path, bytes.NewReader(snappy.Encode(nil, data)))
	req.Header.Set("Content-Type", "application/x-protobuf")
	return req
}

func zipped(t testing.TB, text string) *http.Request {
	t.Helper()
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if _, err := io.WriteString(z, text); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	req := httptest.NewRequest(http.MethodPost, Path, &b)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Content-Encoding", "gzip")
	return req
}

// many is a JSON list of n times the same.
func many(one string, n int) string { return "[" + strings.Repeat(one+",", n-1) + one + "]" }

// Whatever a request is made of, it is counted before memory is taken for it. Each of
// these was some hundred kilobytes on the wire, and took up to 2 GiB.
func TestBombs(t *testing.T) {
	const million = 1_000_000
	values := func(v string) string { return `{"streams":[{"stream":{"a":"b"},"values":` + v + `}]}` }
	for what, req := range map[string]*http.Request{
		"empty lines":            protobuf(encoded(repeated(2, nil, 8*million))),
		"empty streams":          protobuf(repeated(1, nil, 8*million)),
		"empty metadata":         protobuf(encoded(repeated(2, repeated(3, nil, 7*million), 1))),
		"empty parsed metadata":  protobuf(encoded(repeated(2, repeated(4, nil, 7*million), 1))),
		"metadata of many lines": protobuf(encoded(repeated(2, repeated(3, []byte("\n\x01a"), 120), 20_000))),
		"a large metadata": protobuf(encoded(repeated(2, repeated(3, repeated(2, make([]byte, 8<<20), 1), 1),
			1))),
		"a large label set":       protobuf(repeated(1, repeated(1, make([]byte, 8<<20), 1), 1)),
		"the label set again":     protobuf(repeated(1, repeated(1, make([]byte, 1000), 5000), 1)),
		"large unpacked":          protobuf(make([]byte, 17<<20)),
		"JSON lines":              zipped(t, values(many(`["1",""]`, million))),
		"JSON empty lines":        zipped(t, values(many(`[]`, 4*million))),
		"JSON null lines":         zipped(t, values(many(`null`, 2*million))),
		"JSON streams":            zipped(t, `{"streams":`+many(`{}`, 4*million)+`}`),
		"JSON null streams":       zipped(t, `{"streams":`+many(`null`, 2*million)+`}`),
		"JSON labels":             zipped(t, `{"streams":[{"stream":{`+strings.Repeat(`"a":"",`, million)+`"b":""}}]}`),
		"JSON metadata":           zipped(t, values(`[["1","",{`+strings.Repeat(`"a":"",`, million)+`"b":""}]]`)),
		"JSON lists in lists":     zipped(t, values(strings.Repeat("[", 8*million))),
		"JSON objects in objects": zipped(t, strings.Repeat(`{"a":`, 3*million)),
		"JSON unknown members":    zipped(t, `{"x":`+many(`{"y":[[],[]]}`, million)+`,"streams":[{}],"streams":[{}]`),
		"JSON unpacked":           zipped(t, values(`[["1","`+strings.Repeat("a", 17<<20)+`"]]`)),
	} {
		t.Run(what, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			w, got := post(t, plainHandler, req)
			runtime.ReadMemStats(&after)
			if w.Code != http.StatusRequestEntityTooLarge && w.Code != http.StatusBadRequest || len(got) > 0 {
				t.Errorf("%d %s: %d lines were taken", w.Code, w.Body, len(got))
			}
			if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 160 {
				t.Errorf("%d %s: %d MiB were taken for it", w.Code, w.Body, took)
			}
		})
	}
}

// What honest clients send is taken, up to the limits.
func TestLargePushesAreTaken(t *testing.T) {
	line := strings.Repeat("x", 80)
	req := push.PushRequest{Streams: make([]push.Stream, 1000)}
	for i := range req.Streams {
		req.Streams[i].Labels = fmt.Sprintf(`{pod="p-%d"}`, i)
		for range 100 {
			req.Streams[i].Entries = append(req.Streams[i].Entries,
				push.Entry{Line: line, StructuredMetadata: push.LabelsAdapter{{Name: "a", Value: "b"}}})
		}
	}
	data, _ := req.Marshal()
	if w, got := post(t, plainHandler, protobuf(data)); w.Code != http.StatusNoContent || len(got) != 100_000 {
		t.Errorf("%d %s: %d lines", w.Code, w.Body, len(got))
	}
	text := `{"streams":[{"values":` + many(`["1","`+line+`",{"a":"b"}]`,
		90_000) + `,"stream":{"pod":"p"}}],"x":{"y":[{}]}}`
	if w, got := post(t, plainHandler, zipped(t, text)); w.Code != http.StatusNoContent || len(got) != 90_000 ||
		got[0].Pod != "p" {
		t.Errorf("%d %s: %d lines", w.Code, w.Body, len(got))
	}
}

// JSON is read as package json reads it.
func TestJSON(t *testing.T) {
	for text, want := range map[string]string{
		`{}`: ``, `{"streams":null}`: ``, `{"streams":[]}`: ``,
		`{"streams":[{"stream":{"b":"1","a":"\u0041"},"values":[["7","x\ny"],["8","",null],["9","z",{"k":"v"},1]]}]}`:
		// the labels in their order, then time, text and metadata of each line
		`{a="A", b="1"} 7 x|y 8  9 z k=v`,
		`{"Streams":[{"Values":[["7","x"]],"Stream":{"a":"b"}}]}`: `{a="b"} 7 x`,
		`{"streams":[{"values":[["7","x"]]}]}`:                    `{} 7 x`,
		`{"streams":[{"values":[["7"]]}]}`:                        "error",
		`{"streams":[{"values":[[7,"x"]]}]}`:                      "error",
		`{"streams":[{"values":[["7",8]]}]}`:                      "error",
		`{"streams":[{"values":[["7","x",{"k":1}]]}]}`:            "error",
		`{"streams":[{"stream":{"a":1}}]}`:                        "error",
		`{"streams":{}}`:                                          "error",
		`[]`:                                                      "error",
		`{} {}`:                                                   "error",
		``:                                                        "error",
		`{"streams":[`:                                            "error",
		`{"streams":[{"values":[["7","x"]`:                        "error",
	} {
		l := Limits{}
		l.defaults()
		got := ""
		req, err := readJSON(strings.NewReader(text), &census{l: &l, take: func(int64) error { return nil }})
		for _, s := range req.Streams {
			got += s.Labels
			for _, e := range s.Entries {
				got += fmt.Sprintf(" %d %s", e.Timestamp.UnixNano(), strings.ReplaceAll(e.Line, "\n", "|"))
				for _, md := range e.StructuredMetadata {
					got += " " + md.Name + "=" + md.Value
				}
			}
		}
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%s: %q %v, want %q", text, got, err, want)
		}
	}
}

// The census counts what is decoded.
func FuzzCensus(f *testing.F) {
	f.Add(encoded(repeated(2, repeated(3, nil, 2), 3)))
	f.Add(repeated(1, nil, 4))
	body, _ := Encode(whole)
	data, _ := snappy.Decode(nil, body)
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		l := Limits{}
		l.defaults()
		c := census{l: &l, take: func(int64) error { return nil }}
		var req push.PushRequest
		if err := c.countRequest(data); err != nil || req.Unmarshal(data) != nil {
			return
		}
		entries, pairs := 0, 0
		for _, s := range req.Streams {
			entries += len(s.Entries)
			for _, e := range s.Entries {
				pairs += len(e.StructuredMetadata) + len(e.Parsed)
			}
		}
		if c.streams != len(req.Streams) || c.entries != entries || c.pairs < pairs {
			t.Errorf("%+v; decoded: %d streams, %d lines, %d pairs", c, len(req.Streams), entries, pairs)
		}
	})
}

// dribble opens connections that begin a push and do not go on.
func dribble(t *testing.T, address string, n int, body string) (all []net.Conn) {
	t.Helper()
	for range n {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		fmt.Fprintf(c,
			"POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n%s", Path,
			body)
		all = append(all, c)
	}
	return all
}

// Who sends slowly keeps nobody from a place, and is told to send faster.
func TestSlowBodiesHoldUpNobody(t *testing.T) {
	h := NewHandler(Limits{Busy: 2, Patience: 200 * time.Millisecond}, nil,
		func(context.Context, []ingest.Entry) error { return nil }, func(string) {})
	server := httptest.NewServer(h)
	defer server.Close()
	slow := dribble(t, server.Listener.Addr().String(), 100, "{")
	for range 20 {
		res, err := http.Post(server.URL+Path, "application/json", strings.NewReader(`{"streams":[]}`))
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusNoContent {
			t.Fatalf("status %d beside slow bodies", res.StatusCode)
		}
	}
	for _, c := range slow {
		_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
		if head, err := io.ReadAll(io.LimitReader(c, 12)); string(head) != "HTTP/1.1 408" {
			t.Fatalf("%q %v", head, err)
		}
	}
	if h.bodies.held != 0 || len(h.bodies.reading) != 0 {
		t.Errorf("%d bytes are held by %d bodies", h.bodies.held, len(h.bodies.reading))
	}
}

// Where all bodies would take too much, the one gives way that has been read the
// longest.
func TestBodiesGiveWay(t *testing.T) {
	in := &intake{limit: 1 << 20, most: 5 << 19, patience: time.Minute}
	var told []string
	open := func(name string) (*body, []byte) {
		b := &body{timeout: func(at time.Time) error {
			if at.Unix() == 1 {
				told = append(told, name)
			}
			return nil
		}}
		in.beginBody(b)
		var data []byte
		var err error
		for len(data) < 1<<20 && err == nil {
			if data, err = in.growRoom(data[:cap(data)], b); err == nil {
				data = data[:cap(data)]
			}
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return b, data
	}
	first, _ := open("first")
	second, _ := open("second")
	third, _ := open("third")
	if !in.gaveWay(first) || in.gaveWay(second) || in.gaveWay(third) || fmt.Sprint(told) != "[first]" ||
		in.held > in.most {
		t.Errorf("gave way: %v; %d bytes are held", told, in.held)
	}
	in.endBody(third)
	for _, b := range []*body{first, second, third} {
		in.bodyDone(b)
	}
	if in.held != 0 {
		t.Errorf("%d bytes are held by nobody", in.held)
	}
}

// One client does not take all places.
func TestOneClientLeavesPlaces(t *testing.T) {
	in, out := make(chan struct{}), make(chan struct{})
	h := NewHandler(Limits{Busy: 4}, nil, func(context.Context, []ingest.Entry) error {
		in <- struct{}{}
		<-out
		return nil
	}, func(string) {})
	from := func(address string) int {
		req := agentRequest(t, whole[:1])
		req.RemoteAddr = address
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		return w.Code
	}
	var all sync.WaitGroup
	begin := func(address string) {
		all.Go(func() {
			if code := from(address); code != http.StatusNoContent {
				t.Errorf("%s: %d", address, code)
			}
		})
		<-in
	}
	begin("10.0.0.1:1")
	begin("10.0.0.1:2")
	if code := from("10.0.0.1:3"); code != http.StatusTooManyRequests {
		t.Errorf("a third of one client: %d", code)
	}
	begin("[::1]:1")
	begin("[::1]:2")
	if code := from("10.0.0.3:1"); code != http.StatusServiceUnavailable {
		t.Errorf("one too many: %d", code)
	}
	close(out)
	all.Wait()
	if h.places.taken != 0 || len(h.places.of) != 0 {
		t.Errorf("%+v", h.places.of)
	}
}

// manyShipped is a plain push of lines of some pods, each line a part of a split one.
func manyShipped(t *testing.T, pods, from int, line string, inLabels bool) *http.Request {
	t.Helper()
	type value [3]any
	type one struct {
		Stream map[string]string `json:"stream"`
		Values []value           `json:"values"`
	}
	var streams []one
	for i := range pods {
		pod := map[string]string{"namespace": "ci", "pod": fmt.Sprintf("p-%d", from+i), "container": "runner"}
		if inLabels {
			streams = append(streams, one{pod, []value{{"1700000000000000000", line, map[string]string{}}}})
			continue
		}
		if i == 0 {
			streams = append(streams, one{map[string]string{"x": "y"}, nil})
		}
		streams[0].Values = append(streams[0].Values, value{"1700000000000000000", line, pod})
	}
	body, err := json.Marshal(map[string]any{"streams": streams})
	if err != nil {
		t.Fatal(err)
	}
	req := httptest.NewRequest(http.MethodPost, Path, bytes.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	return req
}

// The begins of split lines do not pile up: what is given up is given as it is and
// counted.
func TestSplitLinesAreGivenUp(t *testing.T) {
	part := "2026-05-04T10:00:00.000000000Z stdout P " + strings.Repeat("x", 16<<10)
	for name, inLabels := range map[string]bool{"a stream each": true, "in metadata": false} {
		t.Run(name, func(t *testing.T) {
			given := 0
			h := plainHandler(func(_ context.Context, all []ingest.Entry) error {
				given += len(all)
				return nil
			})
			for n := range 12 { // 80 MiB
				w := httptest.NewRecorder()
				if h.ServeHTTP(w, manyShipped(t, 400, 400*n, part, inLabels)); w.Code != http.StatusNoContent {
					t.Fatalf("%d %s", w.Code, w.Body)
				}
			}
			if h.feeds.size > maxFeedSize || given == 0 || int64(given) != h.Unfinished() {
				t.Errorf("%d MiB are kept, %d lines were given, %d counted", h.feeds.size>>20, given, h.Unfinished())
			}
			var mem runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&mem)
			if mem.HeapAlloc > 72<<20 {
				t.Errorf("%d MiB are in use", mem.HeapAlloc>>20)
			}
			runtime.KeepAlive(h)
		})
	}
}

// The end of a split line that comes with the next push is joined to its begin, and
// one that never comes is given up after a while.
func TestSplitLinesOverPushes(t *testing.T) {
	var got []string
	h := plainHandler(func(_ context.Context, all []ingest.Entry) error {
		for _, e := range all {
			got = append(got, e.Pod+" "+e.Text)
		}
		return nil
	})
	for _, line := range []string{
		"2026-05-04T10:00:00Z stdout P Listening ", "2026-05-04T10:00:00Z stdout F for Jobs",
		"2026-05-04T10:00:00Z stdout P never",
	} {
		h.ServeHTTP(httptest.NewRecorder(), manyShipped(t, 1, 0, line, true))
	}
	f := h.feeds.feedFor(Identity{}, "another", h.plainly)
	h.feeds.doneWith(f, time.Now().Add(time.Hour), func(_ Identity, all []ingest.Entry) {
		for _, e := range all {
			got = append(got, e.Pod+" "+e.Text)
		}
	})
	if want := "[p-0 Listening for Jobs p-0 never]"; fmt.Sprint(got) != want || h.Unfinished() != 1 {
		t.Errorf("%v, want %s; %d unfinished", got, want, h.Unfinished())
	}
}

// A source that nobody knows is none: it proves nothing, and no metric has it as a
// label.
func TestSourcesAreThoseThatAreKnown(t *testing.T) {
	made := ingest.Entry{
		At:     at,
		Clock:  ingest.WallClock,
		Source: "made-up",
		Trust:  ingest.Attested,
		Node:   "n1",
		Text:   "x",
	}
	_, got := post(t, plainHandler, agentRequest(t, []ingest.Entry{made}))
	if len(got) != 1 || got[0].Source != ingest.Unknown || got[0].Trust != ingest.Claimed {
		t.Errorf("%+v", got)
	}
}
