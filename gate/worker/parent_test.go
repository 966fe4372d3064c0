package worker

import (
	"testing"

	"github.com/verdictgate/verdictgate/gate/record"
)

func TestSmoke(t *testing.T) {
	ws := workspace(t)
	job := jobOf(t, ws, does("a", "ok"), cmd("b", "sh", "-c", "id; env; echo x > f; kill -9 $$"), does("c", "exists f"))
	job.Content = true
	r := mustRun(t, job)
	t.Logf("%+v", r.Isolation)
	for _, a := range r.Answers {
		t.Logf("%s %s %s %s", a.Result.CheckID, a.Result.Status, a.Result.Summary, a.Result.Observed)
	}
	t.Logf("%+v %+v", r.Before, r.After)
	t.Logf("%q cpu %v peak %v", r.Limitations, r.CPU, r.PeakBytes>>20)
	want(t, r.Answers[1], record.Fail, "SIGKILL")
}
