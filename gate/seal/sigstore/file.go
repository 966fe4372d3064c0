package sigstore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// readRegular reads a regular file of at most so many bytes. Anything else
// under the name is refused before it is opened, and what took the file's place
// in between is opened without waiting: a FIFO must not hold up a pipeline, and
// opening a device can do things.
func readRegular(name string, most int64) ([]byte, error) {
	info, err := os.Stat(name)
	if err == nil {
		err = regular(info, most)
	}
	if err != nil {
		return nil, bare(err)
	}
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, bare(err)
	}
	defer f.Close()
	if info, err = f.Stat(); err == nil {
		err = regular(info, most)
	}
	if err != nil {
		return nil, bare(err)
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("it has more than %d bytes", most)
	}
	return data, bare(err)
}

func regular(info fs.FileInfo, most int64) error {
	switch {
	case info.IsDir():
		return errors.New("it is a folder")
	case !info.Mode().IsRegular():
		return errors.New("it is no regular file")
	case info.Size() > most:
		return fmt.Errorf("it has %d bytes; at most %d are read", info.Size(), most)
	}
	return nil
}

// bare takes the name and the operation out of an error: the message that
// carries it names the file.
func bare(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
