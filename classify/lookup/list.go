package lookup

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"coroner/classify/ledger"
)

// inFull is how many bytes of a list are verdicts with all of their evidence. A
// client that asks for very many gets all of them, the further ones thin.
const inFull = 4 << 20

// verdicts answers with what Filter reads of the parameters, some at a time: a list
// of all is never made.
func (a *API) verdicts(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	known, err := a.Labels(r.Context())
	if err != nil {
		fail(w, http.StatusInternalServerError, err)
		return
	}
	q, err := Filter(r.URL.Query(), a.Now(), known)
	if err == nil {
		err = strangers(r.URL.Query())
	}
	if err != nil {
		fail(w, http.StatusBadRequest, err)
		return
	}
	out, place := &list{w: w, out: &a.Places.out}, ledger.NewCursor(q)
	for more := true; more; {
		more, err = a.page(r.Context(), place, out)
		if err != nil && !out.begun {
			fail(w, http.StatusInternalServerError, err)
			return
		}
		if err != nil || out.send() != nil {
			panic(http.ErrAbortHandler) // half a list must not look like a whole one
		}
	}
}

// page adds the next verdicts to a list, in the time and the place that a question
// has. They are written when both are free again.
func (a *API) page(ctx context.Context, place *ledger.Cursor, out *list) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	leave, err := a.Places.enter(ctx)
	if err != nil {
		return false, err
	}
	defer leave()
	some, err := a.Source.Next(ctx, place)
	if err == nil {
		err = out.add(asRecorded(some))
	}
	return len(some) > 0, err
}

// list is the JSON of a list of verdicts on its way.
type list struct {
	w     http.ResponseWriter
	out   *outgoing
	begun bool
	size  int
	bytes.Buffer
}

// add adds verdicts; none are the end.
func (l *list) add(some []Recorded) error {
	if !l.begun {
		l.WriteString(`{"verdicts":[`)
	}
	enc := json.NewEncoder(l)
	enc.SetEscapeHTML(false)
	for i := range some {
		if l.begun || i > 0 {
			l.WriteByte(',')
		}
		if l.size+l.Len() > inFull {
			some[i].thin(thinLines)
		}
		if err := enc.Encode(&some[i]); err != nil {
			return err
		}
		l.Truncate(l.Len() - 1) // the newline
	}
	if len(some) == 0 {
		l.WriteString("]}\n")
	}
	return nil
}

// send writes what was added.
func (l *list) send() error {
	if !l.begun {
		l.w.Header().Set("Content-Type", "application/json")
	}
	l.begun = true
	l.size += l.Len()
	err := l.out.write(l.w, l.Bytes())
	l.Reset()
	return err
}
