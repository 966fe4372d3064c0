package results

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
)

// store is the blob store: azurite, in a process of its own, which keeps
// everything in memory.
type store struct {
	client *azblob.Client
	end    context.CancelFunc
	exited chan struct{}
}

// The store's one account and container, and what it prints before its address.
const (
	account   = "gatetest"
	container = "artifacts"
	listens   = "successfully listens on "
)

// startStore starts azurite on a port that is free, and returns when it listens.
func startStore(ctx context.Context, tools, home string) (*store, error) {
	key := make([]byte, 64)
	if _, err := rand.Read(key); err != nil {
		return nil, err
	}
	secret := base64.StdEncoding.EncodeToString(key)
	ctx, end := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, "node", filepath.Join(tools, "node_modules", "azurite", "dist", "src", "blob", "main.js"),
		"--blobHost", "127.0.0.1", "--blobPort", "0", "--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry", "--silent")
	cmd.Dir = home
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "AZURITE_ACCOUNTS=" + account + ":" + secret}
	// It must not outlive a test that was killed. The signal comes when the
	// thread ends that started the process, so that thread waits for it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, said := io.Pipe()
	cmd.Stdout, cmd.Stderr = said, said
	s := &store{end: end, exited: make(chan struct{})}
	go func() {
		defer close(s.exited)
		runtime.LockOSThread()
		said.CloseWithError(errors.Join(cmd.Run(), io.EOF))
	}()
	address, err := firstAddress(out)
	if err != nil {
		s.close()
		return nil, err
	}
	credential, err := azblob.NewSharedKeyCredential(account, secret)
	if err == nil {
		s.client, err = azblob.NewClientWithSharedKeyCredential(address+"/"+account, credential, nil)
	}
	if err == nil {
		_, err = s.client.CreateContainer(ctx, container, nil)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// firstAddress reads what the process prints until it says where it listens, and
// goes on reading in the background.
func firstAddress(out *io.PipeReader) (string, error) {
	lines := bufio.NewScanner(out)
	var all strings.Builder
	for lines.Scan() {
		if _, address, ok := strings.Cut(lines.Text(), listens); ok {
			go io.Copy(io.Discard, out)
			return strings.TrimSpace(address), nil
		}
		fmt.Fprintln(&all, lines.Text())
	}
	return "", fmt.Errorf("azurite ended: %w\n%s", lines.Err(), all.String())
}

// close ends the process and waits for it.
func (s *store) close() {
	s.end()
	<-s.exited
}
