package push

import (
	"net/http"
	"strconv"
	"time"
)

// PaceHeader stands in answers to agents: for how many seconds one is asked to wait between two
// pushes that only say how far it read.
const PaceHeader = "X-Coroner-Pace"

// maxPace is what an agent follows: beyond it a server would take it for silent.
const maxPace = time.Minute

// Paced answers agents with the pace that they are asked to keep, where it is a second or more.
func Paced(next http.Handler, pace func() time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if seconds := int(pace() / time.Second); seconds > 0 && r.Header.Get(AgentHeader) != "" {
			w.Header().Set(PaceHeader, strconv.Itoa(seconds))
		}
		next.ServeHTTP(w, r)
	})
}

// Pace is what the receiver asked for last; 0 for nothing.
func (s *Sender) Pace() time.Duration { return time.Duration(s.pace.Load()) }

func (s *Sender) notePace(h http.Header) {
	seconds, _ := strconv.Atoi(h.Get(PaceHeader)) // 0 where there is none
	s.pace.Store(int64(min(time.Duration(min(max(seconds, 0), 3600))*time.Second, maxPace)))
}
