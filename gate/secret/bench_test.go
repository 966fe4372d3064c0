package secret

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

// The kinds of output that a check captures: a build log without any
// credential, one with some, base64 and dense JSON.
func BenchmarkRedact(b *testing.B) {
	const size = 8 << 20
	fill := func(unit string) string { return strings.Repeat(unit, size/len(unit)+1)[:size] }
	var log strings.Builder
	for i := 0; log.Len() < 1<<20; i++ {
		fmt.Fprintf(&log, "2026-11-30T22:41:%02d.123Z INFO  compiled package example.com/shop/internal/orders (%d files, %dms) sha256:%064x\n", i%60, i, i*7, i)
	}
	secrets := log.String()[:4096] + "DB_PASSWORD=hunter2 token " + ghp + "\n"
	raw := []byte(fill(hexes))
	for _, c := range []struct{ name, text string }{
		{"log", fill(log.String())},
		{"log-with-secrets", fill(secrets)},
		{"base64", fill(base64.StdEncoding.EncodeToString(raw[:3<<20]))},
		{"json", fill(`{"id":12,"name":"shop","tags":["a","b"],"price":29.0,"nested":{"x":true,"created_at":"2026-11-30"}}` + "\n")},
		{"binary", fill("\x00\x01\xfe\xff\x7f\x80plain")},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			for b.Loop() {
				Redact(c.text)
			}
		})
	}
}
