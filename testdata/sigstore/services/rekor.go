package services

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Rekor is the real transparency log, version 2, in a process of its own. It
// keeps its tiles in a folder and needs no database.
type Rekor struct {
	URL string
	ID  string // hex: the SHA-256 of the public key

	key    *ecdsa.PrivateKey
	cancel context.CancelFunc
	exited chan struct{}
	err    error // why the process ended; read after exited is closed
	log    lockedBuffer
}

// rekorHost is the name that the log's checkpoints are signed with.
const rekorHost = "rekor.local"

const (
	// The ports are free when they are chosen, and somebody else may take one
	// before the process does.
	rekorStarts = 3
	// How long a log may take until it answers, on a busy machine.
	rekorPatience = time.Minute
	rekorPoll     = 50 * time.Millisecond
	// How long it may take to end before it is killed.
	rekorGrace = 10 * time.Second
)

// Origin is the URL that the log has in a trusted root.
func (*Rekor) Origin() string { return "https://" + rekorHost }

func startRekor(ctx context.Context, program, dir string) (*Rekor, error) {
	if err := os.MkdirAll(filepath.Join(dir, "tiles"), 0o755); err != nil {
		return nil, err
	}
	key, der, err := newKey()
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "key.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600); err != nil {
		return nil, err
	}
	for range rekorStarts {
		r := &Rekor{key: key, ID: fingerprint(der)}
		if err = r.run(ctx, program, dir, file); err == nil {
			return r, nil
		}
	}
	return nil, err
}

// run starts the process and returns when the log answers.
func (r *Rekor) run(ctx context.Context, program, dir, key string) error {
	ports, err := freePorts(3)
	if err != nil {
		return err
	}
	ctx, r.cancel = context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, program, "serve",
		"--hostname", rekorHost, "--storage-dir", filepath.Join(dir, "tiles"), "--signer-filepath", key,
		"--http-port", ports[0], "--grpc-port", ports[1], "--http-metrics-port", ports[2],
		// A signer waits for the checkpoint that has its entry.
		"--batch-max-age", "50ms", "--checkpoint-interval", "200ms", "--log-level", "warn")
	cmd.Stdout, cmd.Stderr = &r.log, &r.log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = rekorGrace
	// It must not outlive a test that was killed. The signal comes when the
	// thread ends that started the process, so that thread waits for it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	r.URL, r.exited = "http://127.0.0.1:"+ports[0], make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(r.exited)
		r.err = cmd.Run()
	}()
	if err := r.ready(ctx); err != nil {
		return errors.Join(err, r.Close())
	}
	return nil
}

// ready waits until the log answers.
func (r *Rekor) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, rekorPatience)
	defer cancel()
	tick := time.NewTicker(rekorPoll)
	defer tick.Stop()
	for {
		if r.healthy(ctx) {
			return nil
		}
		select {
		case <-tick.C:
		case <-r.exited:
			return fmt.Errorf("it ended: %w\n%s", r.err, r.log.text())
		case <-ctx.Done():
			return fmt.Errorf("it does not answer: %w\n%s", ctx.Err(), r.log.text())
		}
	}
}

func (r *Rekor) healthy(ctx context.Context) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL+"/healthz", nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	return response.Body.Close() == nil && response.StatusCode == http.StatusOK
}

// Close ends the process and waits for it. That it ended of the signal is no error.
func (r *Rekor) Close() error {
	r.cancel()
	<-r.exited
	var exit *exec.ExitError
	if errors.Is(r.err, context.Canceled) || errors.As(r.err, &exit) {
		return nil
	}
	return r.err
}

// freePorts gives ports of loopback that nobody listened on just now.
func freePorts(n int) ([]string, error) {
	var ports []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // only when all are chosen, or one would be given twice
		ports = append(ports, strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
	}
	return ports, nil
}

// lockedBuffer keeps what a process says while somebody may read it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
