package annotate

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"coroner/ingest/forge"
)

// labStatus is what is sent and read of a commit's status, which GitLab shows as a job of the
// pipeline.
type labStatus struct {
	State       string `json:"state,omitempty"`  // as it is sent
	Status      string `json:"status,omitempty"` // as it is read
	Name        string `json:"name"`
	Page        string `json:"target_url,omitempty"`
	Description string `json:"description"`
	Pipeline    int64  `json:"pipeline_id,omitempty"`
}

// mostAddress bounds an address in a status: GitLab takes 255 characters.
const mostAddress = 255

// putStatus sets the commit's status of the job beside the comment. It takes more rights than a
// comment, above all on a protected branch: where the token has them not, the note says so.
func (g *GitLab) putStatus(ctx context.Context, project string, job *labJob, t annotation) (note string, err error) {
	err = g.setStatus(ctx, project, job, t)
	var refused forge.Refused
	if errors.As(err, &refused) {
		g.Log.Warn().Err(refused).Str("repository", t.repository).Str("case", t.id).
			Msg("the job has a comment and no commit status")
		return "a comment, and no status: " + refused.Error(), nil
	}
	return "", err
}

// setStatus sets the status, unless it is what it has to be. GitLab shows the last of a name, so a
// revision takes the place of the one before. It is withdrawn only where it leads to the case's
// page: else it is of another attempt at a job of that name.
func (g *GitLab) setStatus(ctx context.Context, project string, job *labJob, t annotation) error {
	want := labStatus{State: "success", Name: "coroner: " + cut(oneLine(job.Name), 100), Page: t.page,
		Description: cut(t.title, 140), Pipeline: job.Pipeline.ID}
	if len(want.Page) > mostAddress {
		want.Page = ""
	}
	var found []labStatus
	query := url.Values{"name": {want.Name}, "per_page": {strconv.Itoa(perPage)}}
	address := project + "/repository/commits/" + job.Commit.ID + "/statuses?" + query.Encode()
	if err := Failure(g.API.Send(ctx, http.MethodGet, address, nil, &found)); err != nil {
		return err
	}
	is := func(s labStatus) bool { return s.Name == want.Name && s.Page == want.Page }
	said := func(s labStatus) bool { return is(s) && s.Status == want.State && s.Description == want.Description }
	if slices.ContainsFunc(found, said) || t.withdrawn && !slices.ContainsFunc(found, is) {
		return nil
	}
	return g.write(ctx, Status, http.MethodPost, project+"/statuses/"+job.Commit.ID, want, &t)
}
