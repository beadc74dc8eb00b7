package served

import (
	"bytes"
	"compress/gzip"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
)

var text = []byte(strings.Repeat("the same line again\n", 1000))

// noise is what cannot be packed.
func noise() []byte {
	out, r := make([]byte, 20_000), rand.New(rand.NewPCG(1, 2))
	for i := range out {
		out[i] = byte(r.Uint32())
	}
	return out
}

// ask asks a real server, whose client leaves packed answers as they are.
func ask(t *testing.T, url, method string, header ...string) (*http.Response, []byte) {
	t.Helper()
	r, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	client := http.Client{Transport: &http.Transport{DisableCompression: true}}
	defer client.CloseIdleConnections()
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, body
}

// A file goes packed to who can unpack it and plain to everybody else; each form has its own
// tag and length, and who has it is not sent it again.
func TestForms(t *testing.T) {
	s := httptest.NewServer(New("page.html", text))
	defer s.Close()
	plain, body := ask(t, s.URL, http.MethodGet)
	if !bytes.Equal(body, text) || plain.Header.Get("Content-Encoding") != "" {
		t.Errorf("plain: %d bytes, %v", len(body), plain.Header)
	}
	packed, body := ask(t, s.URL, http.MethodGet, "Accept-Encoding", "br, gzip")
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	again, err := io.ReadAll(z)
	if err != nil || !bytes.Equal(again, text) || packed.Header.Get("Content-Encoding") != "gzip" || len(body) > 1000 {
		t.Errorf("packed: %d bytes, %v, %v", len(body), packed.Header, err)
	}
	if got := packed.Header.Get("Content-Length"); got != strconv.Itoa(len(body)) {
		t.Errorf("length %q of %d bytes", got, len(body))
	}
	if plain.Header.Get("ETag") == packed.Header.Get("ETag") || packed.Header.Get("ETag") == "" {
		t.Errorf("both forms have the tag %s", plain.Header.Get("ETag"))
	}
	for _, answer := range []*http.Response{plain, packed} {
		if answer.Header.Get("Vary") != "Accept-Encoding" ||
			answer.Header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("%v", answer.Header)
		}
	}
	same, body := ask(t, s.URL, http.MethodGet, "Accept-Encoding", "gzip", "If-None-Match", packed.Header.Get("ETag"))
	if same.StatusCode != http.StatusNotModified || len(body) > 0 || same.Header.Get("Vary") == "" {
		t.Errorf("%d with %d bytes, %v", same.StatusCode, len(body), same.Header)
	}
	if other, _ := ask(t, s.URL, http.MethodGet, "If-None-Match", packed.Header.Get("ETag")); other.StatusCode != 200 {
		t.Errorf("the tag of the packed form does for the plain one: %d", other.StatusCode)
	}
	head, body := ask(t, s.URL, http.MethodHead, "Accept-Encoding", "gzip")
	if len(body) > 0 || head.Header.Get("Content-Length") != packed.Header.Get("Content-Length") {
		t.Errorf("HEAD: %d bytes, %v", len(body), head.Header)
	}
	part, body := ask(t, s.URL, http.MethodGet, "Range", "bytes=4-7")
	if part.StatusCode != http.StatusPartialContent || string(body) != "same" || part.ContentLength != 4 {
		t.Errorf("a part: %d %q of %d", part.StatusCode, body, part.ContentLength)
	}
}

// What does not get smaller is sent as it is, and its answer depends on nothing.
func TestWhatCannotBePacked(t *testing.T) {
	data := noise()
	s := httptest.NewServer(New("a.png", data))
	defer s.Close()
	answer, body := ask(t, s.URL, http.MethodGet, "Accept-Encoding", "gzip")
	if !bytes.Equal(body, data) || answer.Header.Get("Content-Encoding")+answer.Header.Get("Vary") != "" ||
		answer.Header.Get("Content-Type") != "image/png" {
		t.Errorf("%d bytes, %v", len(body), answer.Header)
	}
}

// A file is packed once, whoever asks at the same time.
func TestPackedOnce(t *testing.T) {
	f := New("a.txt", text)
	if first, second := f.packed(), f.packed(); &first[0] != &second[0] {
		t.Error("it was packed twice")
	}
}

// Who can unpack, in the words of HTTP.
func TestTakesGzip(t *testing.T) {
	for _, c := range []struct {
		accept string
		want   bool
	}{
		{"", false}, {"gzip", true}, {"GZIP", true}, {"deflate, gzip;q=0.5", true}, {"br , gzip", true}, {"*", true},
		{"gzip;q=0", false}, {"gzip; q=0.000", false}, {"identity", false}, {"*;q=0", false}, {"*, gzip;q=0", false},
		{"gzip;q=0, *", false}, {"br", false}, {"xgzip", false},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		if c.accept != "" {
			r.Header.Set("Accept-Encoding", c.accept)
		}
		if got := TakesGzip(r); got != c.want {
			t.Errorf("%q: %v", c.accept, got)
		}
	}
}
