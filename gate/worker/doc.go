// Package worker runs checks in another process, bounded by the kernel, and
// brings their answers back.
//
// # Processes
//
// The worker is this same program, started again under the name gate-worker;
// [Main], called first thing by main, recognises it. [Run] starts up to two:
//
//	gate ── reading worker            evaluates reading steps, several at once
//	   └── keeper ── command worker   evaluates steps that start processes
//	                    └── command, one at a time, with all that it starts
//
// Orders and replies travel over two pipes as frames (frame.go). A reply
// stream ends with a count and a digest of everything before it; a stream
// without that is no answer, whatever had arrived.
//
// # The sandbox
//
// Everything that a thread can raise around itself is raised in the gate, on
// one thread that then forks the worker and ends (sandbox_linux.go): so the
// worker's first instruction already runs inside, and no other program is run in
// between. Commands get one wall more, from the thread that forks them
// (launcher_linux.go). A layer that this machine cannot give is recorded as
// missing, and never fails a run.
//
// # Nothing stays behind
//
// Whatever of the four processes is killed at whatever moment, all that was
// started ends: the kernel ends the reading worker with the gate's thread; the
// keeper, a subreaper, ends everything below it when the gate or the command
// worker is gone; and the command worker, told by the kernel when the keeper
// is gone, ends its own tree. After each command the command worker ends what
// that command left running, also what left its session.
//
// # Time
//
// A step stops itself at its timeout, by its context. One that does not mind
// its context is stopped with its worker a little later: the step is then
// inconclusive, and a fresh worker goes on with the others.
package worker
