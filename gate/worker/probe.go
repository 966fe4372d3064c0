package worker

import (
	"context"
	"fmt"
	"os"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/plan"
	"github.com/verdictgate/verdictgate/gate/record"
)

// Probe finds out what this machine's sandbox is, for both profiles, by
// starting a worker of each: a kernel can have a feature that a container
// takes away again, so nothing is guessed. workspace is the folder that a run
// would judge; "" stands for one that belongs to nobody in particular.
func Probe(ctx context.Context, workspace string) ([]record.Isolation, error) {
	if workspace == "" {
		made, err := os.MkdirTemp("", "gate-probe-")
		if err != nil {
			return nil, fault.New(fault.BackendFailed, "Set TMPDIR to a folder that can be written.", "there is no folder to probe with: %v", err)
		}
		defer os.RemoveAll(made)
		if os.Geteuid() == 0 {
			// An owner who is not root, as a real workspace has. Where that is
			// refused, the layer of the user says so.
			_ = os.Chown(made, overflowID, overflowID)
		}
		workspace = made
	}
	job := Job{Start: record.Start{Workspace: workspace, Roots: []string{workspace}, Path: os.Getenv("PATH")}, Plan: &plan.Plan{}}
	report, err := execute(ctx, job, check.Reading, check.Process)
	if err != nil {
		return nil, err
	}
	if !report.Complete {
		return nil, fault.New(fault.BackendFailed, "", "no worker could be probed: %s", report.Failure)
	}
	if len(report.Isolation) != 2 {
		return nil, fmt.Errorf("%d workers of two answered the probe", len(report.Isolation))
	}
	return report.Isolation, nil
}

// overflowID is the id of nobody on every Linux.
const overflowID = 65534
