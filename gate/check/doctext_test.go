package check

import "testing"

func TestDocText(t *testing.T) {
	for _, tt := range []struct{ name, src, want string }{
		{"line comment", "// Package a decides.\n//\n// # Parameters\n//\n//\tcode\n//   - item\npackage a\n", "Package a decides.\n\n# Parameters\n\n\tcode\n  - item\n"},
		{"block comment", "/*\nPackage a decides.\n\n\tcode\n*/\npackage a\n", "Package a decides.\n\n\tcode\n"},
		{"block on one line", "/* Package a decides. */\npackage a", "Package a decides.\n"},
		{"the word package begins a line of a block", "/*\nPackage a is a\npackage that decides.\n*/\npackage a\n", "Package a is a\npackage that decides.\n"},
		{"a licence above is no package comment", "// Copyright.\n\n// Package a decides.\npackage a\n", "Package a decides.\n"},
		{"only a licence", "// Copyright.\n\npackage a\n", "\n"},
		{"directives are left out", "// Package a decides.\n//go:generate x\npackage a\n", "Package a decides.\n"},
		{"windows line ends", "// Package a decides.\r\n// More.\r\npackage a\r\n", "Package a decides.\nMore.\n"},
		{"no space after the slashes", "//Package a decides.\npackage a\n", "Package a decides.\n"},
		{"code after the clause is no comment", "// Package a decides.\npackage a\n\n// Not this.\n\nimport \"b\"\n", "Package a decides.\n"},
		{"no package clause", "// Package a decides.\n", ""},
		{"unterminated block", "/* Package a", ""},
		{"empty", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := DocText(tt.src); got != tt.want {
				t.Errorf("DocText(%q)\n got %q\nwant %q", tt.src, got, tt.want)
			}
		})
	}
}
