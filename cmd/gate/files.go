package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/verdictgate/verdictgate/gate/fault"
)

// toStdout is the file name that means standard output.
const toStdout = "-"

// writeFile writes a whole file by rename, so that nobody ever sees half of
// it. A file that is there already is left alone unless force says otherwise,
// and what is no plain file (a device, a link, a FIFO) always is: replacing
// /dev/null by a contract would break the machine.
func writeFile(name string, data []byte, force bool) (err error) {
	switch info, err := os.Lstat(name); {
	case err == nil && !info.Mode().IsRegular():
		return fault.New(fault.Usage, "Name a new file, or - for standard output.", "%s is there already and is no plain file", name)
	case err == nil && !force:
		return exists(name)
	}
	dir := filepath.Dir(name)
	temporary, err := os.CreateTemp(dir, ".gate-*")
	if err != nil {
		return notWritten(name, err)
	}
	defer func() {
		temporary.Close()
		// After a rename there is nothing left to remove.
		os.Remove(temporary.Name())
	}()
	if _, err = temporary.Write(data); err == nil {
		// CreateTemp makes a file for its owner alone; a contract is for everybody.
		err = temporary.Chmod(0o644)
	}
	if err == nil {
		err = temporary.Sync()
	}
	if err == nil && force {
		err = os.Rename(temporary.Name(), name)
	} else if err == nil {
		// A link fails where a file has appeared meanwhile; a rename would replace it.
		err = os.Link(temporary.Name(), name)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return exists(name)
	case err != nil:
		return notWritten(name, err)
	}
	return nil
}

func exists(name string) error {
	return fault.New(fault.Usage, "Name another file, or pass --force to replace it.", "%s is there already", name).With("file", name)
}

func notWritten(name string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err // the temporary name says nothing to anybody
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		err = le.Err
	}
	return fault.New(fault.Usage, "Pass -o with a file in a folder that can be written.", "%s cannot be written: %v", name, err).With("file", name).Because(err)
}
