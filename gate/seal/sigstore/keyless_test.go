package sigstore

import (
	"bytes"
	"context"
	"testing"

	"github.com/verdictgate/verdictgate/gate/seal"
)

func TestKeyless(t *testing.T) {
	w := newWorld(t)
	b, _ := patient()
	ctx := context.Background()
	s, err := b.Prepare(ctx, w.keyless())
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Claims(); got == nil || *got != (seal.Claims{Issuer: w.server.URL, Subject: "repo:acme/app:ref:refs/heads/main", RunnerEnvironment: "github-hosted",
		JobWorkflowRef: "acme/gate/.github/workflows/gate.yml@refs/tags/v1", JobWorkflowSHA: "8989898989898989898989898989898989898989", Repository: "acme/app", SHA: commit}) {
		t.Errorf("claims %+v", got)
	}
	for _, text := range []string{"one", "two", "three"} {
		signed, err := bundleOf(s, ctx, statement(text))
		if err != nil {
			t.Fatal(err)
		}
		got, err := b.Verify(ctx, signed, w.trust())
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Payload, statement(text)) || got.Mode != seal.ModeKeyless || got.Algorithm != ecdsaP256SHA256 {
			t.Errorf("%+v", got)
		}
	}
	if n := w.count(certPath); n != 1 {
		t.Errorf("%d certificates for one run", n)
	}
}
