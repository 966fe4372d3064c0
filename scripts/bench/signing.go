package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	password      = "COSIGN_PASSWORD=bench"
	predicateType = "https://github.com/verdictgate/verdictgate/verdict/v1"

	// What cosign wants to be given even where a key is all that is trusted.
	emptyTrustedRoot = `{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1"}`
)

// signed is a run that was signed, and what it was signed with.
type signed struct {
	keyPair
	artifact, contract string
	data, run, bundle  string // the data folder, the run's id in it and its bundle
}

// keyPair is a cosign key pair and the program that made it.
type keyPair struct{ cosign, private, public string }

func requirement(l *lab, dir string) ([]contender, error) {
	s, err := l.signedRun(dir)
	if err != nil {
		return nil, err
	}
	root := filepath.Join(dir, "trusted_root.json")
	if err := os.WriteFile(root, []byte(emptyTrustedRoot), 0o644); err != nil {
		return nil, err
	}
	return []contender{
		{name: "gate require", argv: []string{l.gate, "require", s.bundle, "--subject", s.artifact, "--contract", s.contract, "--key", s.public}},
		{name: "cosign verify-blob-attestation", limit: 1, strict: true, argv: []string{s.cosign, "verify-blob-attestation",
			"--key", s.public, "--bundle", filepath.Join(s.bundle, "attestation.sigstore.json"), "--type", predicateType,
			"--insecure-ignore-tlog", "--trusted-root", root, s.artifact}},
	}, nil
}

func signature(l *lab, dir string) ([]contender, error) {
	s, err := l.signedRun(dir)
	if err != nil {
		return nil, err
	}
	return []contender{
		{name: "gate sign", argv: []string{"env", password, l.gate, "sign", s.run, "--data-dir", s.data, "--sign", "key", "--key", s.private, "--force"}},
		{name: "cosign attest-blob", argv: []string{"env", password, s.cosign, "attest-blob", "--yes", "--tlog-upload=false",
			"--key", s.private, "--predicate", filepath.Join(s.bundle, "evidence.json"), "--type", predicateType,
			"--new-bundle-format", "--bundle", filepath.Join(dir, "cosign.sigstore.json"), s.artifact}},
	}, nil
}

// signedRun makes a key pair and has the gate sign a small run with it.
func (l *lab) signedRun(dir string) (signed, error) {
	s := signed{artifact: filepath.Join(dir, "artifact"), data: filepath.Join(dir, "data")}
	if err := os.WriteFile(s.artifact, make([]byte, mib), 0o644); err != nil {
		return s, err
	}
	ws := filepath.Join(dir, "ws")
	if err := writeFiles(ws, 1, kib, kib); err != nil {
		return s, err
	}
	var err error
	if s.keyPair, err = makeKeyPair(dir); err != nil {
		return s, err
	}
	s.contract, err = l.freeze(dir, []any{check("there", "file_exists", map[string]any{"path": fileName(0)})})
	if err != nil {
		return s, err
	}
	cmd := exec.Command(l.gate, "run", s.contract, "--dir", ws, "--data-dir", s.data, "--format", "json",
		"--subject", s.artifact, "--sign", "key", "--key", s.private)
	cmd.Env, cmd.Stderr = append(os.Environ(), password), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return s, fmt.Errorf("gate run --sign: %w", err)
	}
	var said struct {
		RunID  string `json:"run_id"`
		Bundle string `json:"bundle"`
	}
	err = json.Unmarshal(out, &said)
	s.run, s.bundle = said.RunID, said.Bundle
	return s, err
}

// makeKeyPair makes a key and has cosign, which signs with no format but its own,
// put it under a password.
func makeKeyPair(dir string) (keyPair, error) {
	tool := exec.Command("scripts/signing-tools", "cosign")
	tool.Stderr = os.Stderr // tells when it builds, which takes minutes
	path, err := tool.Output()
	if err != nil {
		return keyPair{}, fmt.Errorf("scripts/signing-tools: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return keyPair{}, err
	}
	plain, prefix := filepath.Join(dir, "key.pem"), filepath.Join(dir, "bench")
	if err := os.WriteFile(plain, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		return keyPair{}, err
	}
	k := keyPair{cosign: strings.TrimSpace(string(path)), private: prefix + ".key", public: prefix + ".pub"}
	cmd := exec.Command(k.cosign, "import-key-pair", "--key", plain, "--output-key-prefix", prefix)
	cmd.Env = append(os.Environ(), password)
	if out, err := cmd.CombinedOutput(); err != nil {
		return keyPair{}, fmt.Errorf("cosign import-key-pair: %w\n%s", err, out)
	}
	return k, nil
}
