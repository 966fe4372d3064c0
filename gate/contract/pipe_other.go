//go:build !linux

package contract

import (
	"errors"
	"time"
)

// readPipe is not known here to end, so no pipe is read.
func readPipe(string, int64, time.Duration) ([]byte, error) {
	return nil, errors.New("it is a pipe, which is read on Linux only")
}
