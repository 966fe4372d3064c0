package actions_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// way is how the gate is run, and how it then reaches GitHub.
type way struct {
	image   string // "" is the program on this machine
	address string // that services listen at
	cert    *tls.Certificate
	client  *http.Client // which the tests ask by themselves
}

var theWay struct {
	sync.Once
	way
	err error
}

// network gives the way that GATE_IMAGE asks for. A container does not reach the
// loopback of its host, so services listen at the gateway of Docker's bridge; a token is
// sent there over TLS alone, so they have certificates, and the image that is run is the given one with
// one more authority among those that it trusts.
func network(t *testing.T) way {
	t.Helper()
	theWay.Do(func() {
		theWay.client = http.DefaultClient
		if image := os.Getenv("GATE_IMAGE"); image != "" {
			theWay.way, theWay.err = container(image)
		}
	})
	if theWay.err != nil {
		t.Fatal(theWay.err)
	}
	return theWay.way
}

func docker(args ...string) (string, error) {
	cmd := exec.Command("docker", args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("docker %s: %w\n%s", strings.Join(args, " "), err, said.String())
	}
	return strings.TrimSpace(string(out)), nil
}

// front lets a service that listens on loopback be reached on the way: it gives the
// address of a proxy, or the service's own where that can be reached. end ends it.
func (y way) front(service string) (address string, end func(), err error) {
	if y.cert == nil {
		return service, func() {}, nil
	}
	to, err := url.Parse(service)
	if err != nil {
		return "", nil, err
	}
	listener, err := net.Listen("tcp", y.address)
	if err != nil {
		return "", nil, err
	}
	proxy := httptest.NewUnstartedServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: to.Scheme, Host: to.Host}) }})
	proxy.Listener.Close()
	proxy.Listener, proxy.TLS = listener, &tls.Config{Certificates: []tls.Certificate{*y.cert}}
	proxy.StartTLS()
	return proxy.URL + to.Path, proxy.Close, nil
}

// bridge gives the address of this machine on Docker's bridge. Not every version of
// Docker names it as the network's gateway; the interface has it.
func bridge() (net.IP, error) {
	name, err := docker("network", "inspect", "bridge", "--format", `{{index .Options "com.docker.network.bridge.name"}}`)
	if err != nil {
		return nil, err
	}
	device, err := net.InterfaceByName(name)
	if err != nil {
		return nil, fmt.Errorf("Docker's bridge %q: %w", name, err)
	}
	addresses, err := device.Addrs()
	if err != nil {
		return nil, err
	}
	for _, a := range addresses {
		if ip, _, err := net.ParseCIDR(a.String()); err == nil && ip.To4() != nil {
			return ip.To4(), nil
		}
	}
	return nil, fmt.Errorf("Docker's bridge %q has no address", name)
}

// authorities is where the image, as Debian does, has those that it trusts.
const authorities = "/etc/ssl/certs/ca-certificates.crt"

func container(image string) (way, error) {
	gateway, err := bridge()
	if err != nil {
		return way{}, err
	}
	cert, authority, err := certificate(gateway)
	if err != nil {
		return way{}, err
	}
	dir, err := os.MkdirTemp("", "gate-image.")
	if err != nil {
		return way{}, err
	}
	defer os.RemoveAll(dir)
	id, err := docker("create", image)
	if err != nil {
		return way{}, err
	}
	list := filepath.Join(dir, "ca-certificates.crt")
	if _, err := docker("cp", "-L", id+":"+authorities, list); err != nil {
		return way{}, err
	}
	if _, err := docker("rm", id); err != nil {
		return way{}, err
	}
	f, err := os.OpenFile(list, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return way{}, err
	}
	if _, err := f.Write(authority); err != nil {
		return way{}, err
	}
	if err := f.Close(); err != nil {
		return way{}, err
	}
	recipe := fmt.Sprintf("FROM %s\nCOPY ca-certificates.crt %s\n", image, authorities)
	if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte(recipe), 0o644); err != nil {
		return way{}, err
	}
	// It has no name: another run of these tests has an image, and an authority, of its own.
	tested, err := docker("build", "-q", dir)
	if err != nil {
		return way{}, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	return way{image: tested, address: gateway.String() + ":0", cert: cert, client: client}, nil
}

// forget removes the image that was made for the way.
func (y way) forget() error {
	if y.image == "" {
		return nil
	}
	_, err := docker("image", "rm", "--force", y.image)
	return err
}

// certificate makes one for an address, by an authority of its own.
func certificate(ip net.IP) (*tls.Certificate, []byte, error) {
	now := time.Now()
	sign := func(serial int64, parent *x509.Certificate, by *ecdsa.PrivateKey, change func(*x509.Certificate)) ([]byte, *ecdsa.PrivateKey, error) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, nil, err
		}
		c := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: fmt.Sprintf("GitHub of a test %d", serial)}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour)}
		change(c)
		if parent == nil {
			parent, by = c, key
		}
		der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), by)
		return der, key, err
	}
	rootDER, rootKey, err := sign(1, nil, nil, func(c *x509.Certificate) {
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign
	})
	if err != nil {
		return nil, nil, err
	}
	root, err := x509.ParseCertificate(rootDER)
	if err != nil {
		return nil, nil, err
	}
	der, key, err := sign(2, root, rootKey, func(c *x509.Certificate) {
		c.IPAddresses, c.KeyUsage, c.ExtKeyUsage = []net.IP{ip}, x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	})
	if err != nil {
		return nil, nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: rootDER}), nil
}
