package numericinvariant

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
)

// FuzzAsNumber holds the reader of captured text against encoding/json: it takes
// no more, and refuses only what overflows or stands in white space.
func FuzzAsNumber(f *testing.F) {
	for _, seed := range []string{"1", "-0", "1.50", "1e5", "1e400", "+1", "01", ".5", "1.", "NaN", "Infinity", "0x1F", "1,234", "1_000", " 1", "1\n", "", "\ufeff1", "１"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		literal, err := asNumber(text)
		var n json.Number
		valid := strings.TrimSpace(text) == text && !strings.HasPrefix(text, `"`) && text != "null" && json.Unmarshal([]byte(text), &n) == nil
		if err == nil {
			if !valid || string(literal) != text {
				t.Fatalf("%q is taken as %q; JSON number: %v", text, literal, valid)
			}
			return
		}
		if _, overflow := strconv.ParseFloat(text, 64); valid && overflow == nil {
			t.Fatalf("%q is a JSON number and refused: %v", text, err)
		}
	})
}
