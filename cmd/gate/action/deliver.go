package action

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/reporter/artifact"
)

// deliver uploads the evidence of a run, and stores its statement with GitHub. Both come
// before the check-run, which names them.
func (j *judging) deliver(ctx context.Context, r *run) {
	if r.data != "" {
		// Later steps, and the runner's own cleaning, are not root.
		defer func() {
			if err := owned(r.data); err != nil {
				r.note("the evidence's folder belongs to the gate's user: %v", err)
			}
		}()
	}
	if r.sealed == nil {
		return
	}
	if j.in.artifact {
		j.upload(ctx, r)
	}
	if r.sealed.Sigstore != nil {
		j.attest(ctx, r)
	}
}

func (j *judging) upload(ctx context.Context, r *run) {
	name := j.in.artifactName
	if name == "" {
		name = artifactName(r.sealed.Evidence.ContractID, j.change.Change, j.in.matrix)
	}
	log := j.console()
	config := artifact.Config{Retention: j.in.retention, Mask: log.mask, Warn: j.warn}
	if j.Env("RUNNER_DEBUG") == "1" {
		config.Debug = log.say
	}
	uploaded, err := artifact.Upload(ctx, config.FromEnv(j.Env), name+j.in.suffix, r.sealed.Dir)
	switch {
	case errors.Is(err, artifact.ErrUnsupported):
		r.note("the evidence was not uploaded: %s", fault.As(err).Message)
	case err != nil:
		r.failed = fault.As(err)
	default:
		r.uploaded = &uploaded
		if uploaded.Note != "" {
			r.note("%s", uploaded.Note)
		}
	}
}

// attest stores the signed statement with GitHub: where it can be, or, with
// attestations: true, always.
func (j *judging) attest(ctx context.Context, r *run) {
	if j.in.attestations == "false" {
		return
	}
	_, err := j.forge.StoreAttestation(ctx, r.sealed.Sigstore)
	switch f := fault.As(err); {
	case err == nil:
	case j.in.attestations == "auto":
		// It is in the bundle all the same, and nobody said that they need it there.
		r.note("the statement is in the evidence, and was not stored with GitHub: %s", f.Message)
	default:
		r.failed = fault.New(fault.ActionReportFailed, f.Fix, "the statement could not be stored with GitHub: %s", f.Message).Because(err)
	}
}

// unfit are the characters that an artifact's name is better without.
var unfit = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// maxArtifactPart bounds a part of the name, in bytes.
const maxArtifactPart = 80

// artifactName is one that no other job, leg of a matrix or attempt of the run has.
func artifactName(contract string, c bundle.Change, matrix string) string {
	parts := []string{"gate", contract, c.Job}
	if matrix != "" && matrix != "null" {
		parts = append(parts, short(matrix))
	}
	for i, p := range parts {
		p = strings.Trim(unfit.ReplaceAllString(p, "-"), "-")
		parts[i] = p[:min(len(p), maxArtifactPart)]
	}
	return strings.Join(append(parts, c.RunAttempt), "-")
}

// owned gives what was written to the owner of the folder that the runner made:
// what root leaves behind there, later steps could not remove.
func owned(dir string) error {
	info, err := os.Stat(filepath.Dir(dir))
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || os.Geteuid() != 0 {
		return nil // what this user made, this user can remove
	}
	return filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(st.Uid), int(st.Gid))
	})
}

// parseID reads a number of the runner's; 0 for none.
func parseID(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
