package push

import "net/http"

// BookHeader stands in answers to agents: the hash of the rulebook by which the server files, and
// drops what that does not know.
const BookHeader = "X-Coroner-Rulebook"

// FiledBy answers agents with the hash of the rulebook in force.
func FiledBy(next http.Handler, hash func() string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(AgentHeader) != "" {
			w.Header().Set(BookHeader, hash())
		}
		next.ServeHTTP(w, r)
	})
}

// FiledBy is the hash of the rulebook by which the last request was filed; "" where the receiver
// does not say.
func (s *Sender) FiledBy() string {
	hash, _ := s.filedBy.Load().(string)
	return hash
}
