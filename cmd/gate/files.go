package main

import (
	"crypto/rand"
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
func writeFile(name string, data []byte, force bool) error {
	switch info, err := os.Lstat(name); {
	case err == nil && !info.Mode().IsRegular():
		return fault.New(fault.Usage, "Name a new file, or - for standard output.", "%s is there already and is no plain file", name)
	case err == nil && !force:
		return exists(name)
	}
	temporary, err := newBeside(name)
	if err != nil {
		return notWritten(name, err)
	}
	// After a rename there is nothing left to remove.
	defer os.Remove(temporary.Name())
	_, err = temporary.Write(data)
	if err == nil {
		err = temporary.Sync()
	}
	if closeErr := temporary.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = place(temporary.Name(), name, force)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return exists(name)
	case err != nil:
		return notWritten(name, err)
	}
	return nil
}

// newBeside makes an empty file in the folder of another, with the permissions
// that the user's mask leaves to new files.
func newBeside(name string) (*os.File, error) {
	return os.OpenFile(filepath.Join(filepath.Dir(name), ".gate-"+rand.Text()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
}

// place gives a finished file its name. Without force it must not replace a
// file that has appeared meanwhile: a link fails then, where a rename would not.
// On a file system without links the name is taken first, and then replaced.
func place(temporary, name string, force bool) error {
	if force {
		return os.Rename(temporary, name)
	}
	err := os.Link(temporary, name)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	taken, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	if err = taken.Close(); err == nil {
		err = os.Rename(temporary, name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(name)) // it was empty, and ours
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
