package strictjson

import (
	"encoding/json"
	"errors"
	"os"
	"testing"
)

// The vectors are the published ones of the format: input, canonical form and
// digest, and inputs that are refused.
func TestCanonicalVectors(t *testing.T) {
	data, err := os.ReadFile("testdata/canonical.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Canonical []struct{ Input, Canonical, SHA256 string }
		Refused   []string
	}
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors.Canonical) < 30 || len(vectors.Refused) < 15 {
		t.Fatalf("only %d and %d vectors", len(vectors.Canonical), len(vectors.Refused))
	}
	for _, v := range vectors.Canonical {
		doc, err := Parse([]byte(v.Input), ContractLimits)
		if err != nil {
			t.Errorf("Parse(%s): %v", v.Input, err)
			continue
		}
		if got := string(Canonical(&doc.Root)); got != v.Canonical {
			t.Errorf("canonical form of %s\n got %s\nwant %s", v.Input, got, v.Canonical)
		}
		if got := DigestOf(&doc.Root).Hex(); got != v.SHA256 {
			t.Errorf("digest of %s is %s, want %s", v.Input, got, v.SHA256)
		}
	}
	for _, input := range vectors.Refused {
		doc, err := Parse([]byte(input), ContractLimits)
		if err == nil {
			t.Errorf("%s is accepted as %s", clip(input), Canonical(&doc.Root))
			continue
		}
		var syn *SyntaxError
		if !errors.As(err, &syn) || syn.Line < 1 || syn.Column < 1 || syn.Reason == "" {
			t.Errorf("%s is refused without place or reason: %v", clip(input), err)
		}
	}
}
