package bundle

import (
	"fmt"
	"testing"
)

// BenchmarkWriteAndRead is what every run pays, files synced to the disk.
func BenchmarkWriteAndRead(b *testing.B) {
	for _, checks := range []int{1, 2000} {
		b.Run(fmt.Sprint(checks), func(b *testing.B) {
			c := content(b)
			one := c.Answers[2]
			c.Answers = c.Answers[:2]
			for i := len(c.Answers); i < checks; i++ {
				more := one
				more.Result.CheckID, more.Result.Proposed = fmt.Sprintf("check-%d", i), true
				c.Answers = append(c.Answers, more)
			}
			data := b.TempDir()
			for b.Loop() {
				if _, err := Read(write(b, data, c)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
