package check_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/secret"
)

// Wherever a long output is cut, no part of a credential in it is left for a
// reader: what is shown is redacted afterwards, and half a token would pass.
func TestACutGoesThroughNoCredential(t *testing.T) {
	token := "gh" + "p_16C7e42F292c6912E7710c838347Ae178B4a"
	for offset := range len(token) + 2 {
		for _, space := range []string{"\n", " ", "\t"} {
			head := strings.Repeat("x", 50) + space + token[:min(offset, len(token))]
			tail := token[len(token)-min(offset, len(token)):] + space + strings.Repeat("y", 50)
			shown, _ := secret.Redact(string(check.Seam([]byte(head), []byte(tail), 9)))
			for n := 4; n <= len(token); n++ {
				if strings.Contains(shown, token[:n]) || strings.Contains(shown, token[len(token)-n:]) {
					t.Fatalf("cut at %d leaves a part of the token: %q", offset, shown)
				}
			}
		}
	}
}

func TestSeamSaysHowMuchIsMissing(t *testing.T) {
	got := string(check.Seam([]byte("one\ntwo"), []byte("three\nfour"), 100))
	if want := fmt.Sprintf("one\n\n[… %d bytes left out …]\nfour", 100+len("two")+len("three\n")); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := check.Seam([]byte("aé"[:2]), []byte("é"[1:]+"b"), 1); !utf8.Valid(got) {
		t.Errorf("a cut through a character: %q", got)
	}
	binary := bytes.Repeat([]byte{0x80}, 100)
	if got := check.Seam(binary, binary, 1); len(got) < 190 {
		t.Errorf("binary output lost %d bytes", 200-len(got))
	}
}
