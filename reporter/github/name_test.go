package github

import "testing"

// TestNamesThatLookAlike holds that parts of a name that differ look different.
func TestNamesThatLookAlike(t *testing.T) {
	for part, want := range map[string]string{
		"main":             "main",
		"größe/x-1":        "größe/x-1",
		"a b":              "a b",
		"a\u00a0b":         "a<U+00A0>b",
		"a\u2003b":         "a<U+2003>b",
		"a\u3000b":         "a<U+3000>b",
		"a\tb\nc\x7f":      "a<U+0009>b<U+000A>c<U+007F>",
		" main":            "<U+0020>main",
		"main ":            "main<U+0020>",
		"a  b":             "a <U+0020>b",
		"gro\u0308ße":      "gro<U+0308>ße", // not the letter with the mark in it
		"main<U+200B>":     "main<U+003C>U+200B>",
		"main\u200b":       "main<U+200B>",
		"x<0xFF>":          "x<U+003C>0xFF>",
		"x\xff":            "x<0xFF>",
		"x\ufffd":          "x\ufffd",
		"a<b":              "a<b",
		"rocket\U0001f680": "rocket<U+1F680>",
	} {
		if got := namePart(part); got != want {
			t.Errorf("%q is named %q, not %q", part, got, want)
		}
	}
}
