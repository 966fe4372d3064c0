//go:build !unix

package bundle

import (
	"errors"
	"os"
)

// lock does not know here whether a folder's owner lives, so nothing is swept.
func lock(string) (unlock func(), err error) { return nil, errors.ErrUnsupported }

const openFlags = os.O_RDONLY
