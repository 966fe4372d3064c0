//go:build linux && !amd64 && !arm64

package worker

// No numbers are known for this architecture: the sandbox says so, and stands
// without its filters.
const (
	nativeArch = 0
	compatArch = 0
	x32Bit     = 0
)

var calls = [...]call{}
