package sigstore

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/secure-systems-lab/go-securesystemslib/encrypted"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"

	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/seal"
)

// The PEM blocks that a private key is read from.
const (
	blockSigstore = "ENCRYPTED SIGSTORE PRIVATE KEY" // cosign generate-key-pair
	blockCosign   = "ENCRYPTED COSIGN PRIVATE KEY"   // the same, before 2023
	blockPKCS8    = "PRIVATE KEY"                    // openssl genpkey
	blockSEC1     = "EC PRIVATE KEY"                 // openssl ecparam -genkey
	blockCurve    = "EC PARAMETERS"                  // what that writes before it
	blockPublic   = "PUBLIC KEY"
)

// passwordVariable is where cosign takes a key's password from.
const passwordVariable = "COSIGN_PASSWORD"

// keysTaken ends the messages about keys that are not taken.
const keysTaken = "Use a cosign key pair (cosign generate-key-pair), or a PEM key in PKCS#8: ECDSA P-256 or P-384, or Ed25519."

// keypair is a key as sigstore-go's signer wants it.
type keypair struct {
	algorithm
	public crypto.PublicKey
	pem    string
	hint   string
	sign   func(ctx context.Context, data []byte) ([]byte, error)
}

// GetHashAlgorithm and the methods below implement sign.Keypair.
func (k *keypair) GetHashAlgorithm() protocommon.HashAlgorithm { return k.hashName }

// GetSigningAlgorithm implements sign.Keypair.
func (k *keypair) GetSigningAlgorithm() protocommon.PublicKeyDetails { return k.details }

// GetHint implements sign.Keypair.
func (k *keypair) GetHint() []byte { return []byte(k.hint) }

// GetKeyAlgorithm implements sign.Keypair.
func (k *keypair) GetKeyAlgorithm() string { return k.family }

// GetPublicKey implements sign.Keypair.
func (k *keypair) GetPublicKey() crypto.PublicKey { return k.public }

// GetPublicKeyPem implements sign.Keypair.
func (k *keypair) GetPublicKeyPem() (string, error) { return k.pem, nil }

// SignData implements sign.Keypair: the signature, and what was signed.
func (k *keypair) SignData(ctx context.Context, data []byte) ([]byte, []byte, error) {
	sig, err := k.sign(ctx, data)
	if err != nil {
		return nil, nil, at(StepSigning, err)
	}
	if k.hash == 0 {
		return sig, data, nil
	}
	return sig, digest(k.hash, data), nil
}

// newKeypair makes the keypair of a signer in memory.
func newKeypair(signer crypto.Signer) (*keypair, error) {
	k, err := describe(signer.Public())
	if err != nil {
		return nil, err
	}
	k.sign = func(_ context.Context, data []byte) ([]byte, error) {
		if k.hash != 0 {
			data = digest(k.hash, data)
		}
		return signer.Sign(rand.Reader, data, k.hash)
	}
	return k, nil
}

// describe is a keypair that cannot sign yet.
func describe(public crypto.PublicKey) (*keypair, error) {
	a, err := algorithmOf(public)
	if err != nil {
		return nil, err
	}
	text, der, err := publicPEM(public)
	if err != nil {
		return nil, err
	}
	return &keypair{algorithm: a, public: public, pem: text, hint: hintOf(der)}, nil
}

// remoteKey says whether a key is named by the address of a service that
// holds it, and not by a file.
func remoteKey(name string) bool { return strings.Contains(name, "://") }

// loadKeypair gives the key that --key names.
func loadKeypair(ctx context.Context, how seal.Signing) (*keypair, error) {
	if how.Key == "" {
		return nil, fault.New(fault.Usage, "Pass --key with the private key's file, or with the URI of a KMS.", "signing with a key needs a key")
	}
	if remoteKey(how.Key) {
		return kmsKeypair(ctx, how.Key)
	}
	data, err := readRegular(how.Key, maxKeyFile)
	if err != nil {
		return nil, unavailable(StepKey, "Pass --key with the file of a private key that this user can read.", "the key %s cannot be read: %v", how.Key, err)
	}
	private, err := parsePrivate(data, func() ([]byte, error) { return password(how) })
	if err != nil {
		return nil, keyFault(how.Key, err)
	}
	signer, ok := private.(crypto.Signer)
	if !ok {
		return nil, unavailable(StepKey, keysTaken, "the key %s cannot sign: it is a key of another kind (%T)", how.Key, private)
	}
	k, err := newKeypair(signer)
	if err != nil {
		return nil, unavailable(StepKey, keysTaken, "the key %s is not taken: %v", how.Key, err)
	}
	return k, nil
}

// keyError is a problem of a private key with its mend.
type keyError struct{ step, problem, fix string }

func (e *keyError) Error() string { return e.problem }

func keyFault(name string, err error) error {
	var k *keyError
	if !errors.As(err, &k) {
		return err // of the password: a fault already
	}
	return unavailable(k.step, k.fix, "the key %s cannot be used: %s", name, k.problem)
}

// parsePrivate reads a private key. The password is asked for only when the
// key is encrypted in cosign's way.
func parsePrivate(data []byte, password func() ([]byte, error)) (crypto.PrivateKey, error) {
	block, rest := pem.Decode(data)
	if block != nil && block.Type == blockCurve {
		block, rest = pem.Decode(rest)
	}
	if block == nil {
		return nil, &keyError{StepKey, "it holds no PEM block", keysTaken}
	}
	if len(bytes.TrimSpace(rest)) > 0 {
		return nil, &keyError{StepKey, "something follows its first PEM block", "Keep one key in the file."}
	}
	if block.Headers["DEK-Info"] != "" {
		return nil, &keyError{StepKey, "it is encrypted in OpenSSL's old way", "Make it a cosign key: cosign import-key-pair --key FILE."}
	}
	switch block.Type {
	case blockSigstore, blockCosign:
		pass, err := password()
		if err != nil {
			return nil, err
		}
		der, err := encrypted.Decrypt(block.Bytes, pass)
		switch {
		case err != nil && len(pass) == 0:
			return nil, &keyError{StepPassword, "it is encrypted, and no password was given", "Set " + passwordVariable + ", or pass --password-file."}
		case err != nil:
			return nil, &keyError{StepPassword, "its password is another one, or the file is damaged", "Check " + passwordVariable + " or the file that --password-file names."}
		}
		return parsePKCS8(der)
	case blockPKCS8:
		return parsePKCS8(block.Bytes)
	case blockSEC1:
		key, err := x509.ParseECPrivateKey(block.Bytes)
		if err != nil {
			return nil, &keyError{StepKey, "its ECDSA key cannot be parsed: " + err.Error(), keysTaken}
		}
		return key, nil
	}
	return nil, &keyError{StepKey, refusedBlock(block.Type), refusedMend(block.Type)}
}

func parsePKCS8(der []byte) (crypto.PrivateKey, error) {
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, &keyError{StepKey, "its PKCS#8 key cannot be parsed: " + err.Error(), keysTaken}
	}
	return key, nil
}

// refusedBlock says what a PEM block holds that no key is read from.
func refusedBlock(kind string) string {
	switch kind {
	case blockPublic:
		return "it is a public key; signing needs the private one"
	case "RSA PRIVATE KEY":
		return "it is an RSA key"
	case "ENCRYPTED PRIVATE KEY":
		return "it is a PKCS#8 key encrypted in OpenSSL's way"
	case "OPENSSH PRIVATE KEY":
		return "it is a key of OpenSSH"
	}
	return fmt.Sprintf("its PEM block is %q", kind)
}

func refusedMend(kind string) string {
	if kind == "ENCRYPTED PRIVATE KEY" {
		return "Decrypt it (openssl pkcs8 -in FILE -out NEW) and make it a cosign key with cosign import-key-pair --key NEW."
	}
	return keysTaken
}

// password gives the password of a cosign key: from the file that was named,
// else from the environment. Nothing is ever asked for on a terminal: a gate
// runs where nobody answers, and a prompt there hangs.
func password(how seal.Signing) ([]byte, error) {
	if how.PasswordFile == "" {
		return []byte(how.Env(passwordVariable)), nil
	}
	data, err := readRegular(how.PasswordFile, maxKeyFile)
	if err != nil {
		return nil, unavailable(StepPassword, "Pass --password-file with a file that this user can read.", "the password file %s cannot be read: %v", how.PasswordFile, err)
	}
	// Editors and echo end a file with a line break that is no part of the password.
	data = bytes.TrimSuffix(data, []byte("\n"))
	return bytes.TrimSuffix(data, []byte("\r")), nil
}

// parsePublic reads one public key that signatures are verified by.
func parsePublic(data []byte) (*keyVerifier, error) {
	block, rest := pem.Decode(data)
	switch {
	case block == nil:
		return nil, errors.New("it holds no PEM block")
	case len(bytes.TrimSpace(rest)) > 0:
		return nil, errors.New("something follows its first PEM block")
	case block.Type == "CERTIFICATE":
		return nil, errors.New("it is a certificate, and no key")
	case strings.Contains(block.Type, "PRIVATE KEY"):
		return nil, errors.New("it is a private key; verifying takes the public one")
	case block.Type != blockPublic:
		return nil, fmt.Errorf("its PEM block is %q", block.Type)
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("it cannot be parsed: %w", err)
	}
	v, err := newKeyVerifier(key)
	if err != nil {
		return nil, fmt.Errorf("it is not taken: %w", err)
	}
	return v, nil
}

// loadPublic gives the key that a policy names.
func loadPublic(ctx context.Context, name string) (*keyVerifier, error) {
	if remoteKey(name) {
		k, err := kmsKeypair(ctx, name)
		if err != nil {
			return nil, noTrust("Pass --key with the public key's file, or mend the way to the KMS.", "the key %s could not be had: %s", name, fault.As(err).Message).Because(err)
		}
		return newKeyVerifier(k.public)
	}
	data, err := readRegular(name, maxKeyFile)
	if err != nil {
		return nil, noTrust("Pass --key with the file of a public key that this user can read.", "the public key %s cannot be read: %v", name, err)
	}
	v, err := parsePublic(data)
	if err != nil {
		return nil, noTrust("Pass --key with a PEM public key (cosign.pub, or what openssl pkey -pubout writes): ECDSA P-256 or P-384, or Ed25519.", "the public key %s cannot be used: %v", name, err)
	}
	return v, nil
}
