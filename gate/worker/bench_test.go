package worker

import (
	"fmt"
	"testing"
)

// BenchmarkCommands is the price of one isolated command.
func BenchmarkCommands(b *testing.B) {
	steps := make([]step, b.N)
	for i := range steps {
		steps[i] = cmd(fmt.Sprint("c", i), "/bin/true")
	}
	job := jobOf(b, workspace(b), steps...)
	b.ResetTimer()
	mustRun(b, job)
}

// BenchmarkReading is the price of ordering and answering one reading step.
func BenchmarkReading(b *testing.B) {
	steps := make([]step, b.N)
	for i := range steps {
		steps[i] = does(fmt.Sprint("c", i), "ok")
	}
	job := jobOf(b, workspace(b), steps...)
	b.ResetTimer()
	mustRun(b, job)
}

// BenchmarkStart is the price of a worker of each kind.
func BenchmarkStart(b *testing.B) {
	job := jobOf(b, workspace(b), does("a", "ok"), cmd("b", "/bin/true"))
	for b.Loop() {
		mustRun(b, job)
	}
}

// BenchmarkStartReading is the price of a reading worker alone.
func BenchmarkStartReading(b *testing.B) {
	job := jobOf(b, workspace(b), does("a", "ok"))
	for b.Loop() {
		mustRun(b, job)
	}
}

// BenchmarkReadingInProcess is the same without a second process.
func BenchmarkReadingInProcess(b *testing.B) {
	steps := make([]step, b.N)
	for i := range steps {
		steps[i] = does(fmt.Sprint("c", i), "ok")
	}
	job := jobOf(b, workspace(b), steps...)
	job.InProcess = true
	b.ResetTimer()
	mustRun(b, job)
}
