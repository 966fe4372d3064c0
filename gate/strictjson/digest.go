package strictjson

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// Digest is a SHA-256. Its text form is "sha256:" and 64 lower-case hex digits.
type Digest [sha256.Size]byte

// Sum is the SHA-256 of bytes.
func Sum(data []byte) Digest { return sha256.Sum256(data) }

// ParseDigest reads 64 hex digits of any case, with or without "sha256:".
func ParseDigest(s string) (Digest, error) {
	var d Digest
	h := s
	if len(h) > 7 && strings.EqualFold(h[:7], "sha256:") {
		h = h[7:]
	}
	if len(h) != hex.EncodedLen(len(d)) {
		return d, fmt.Errorf("%s is no SHA-256: 64 hex digits are wanted, with or without sha256: before them", clip(s))
	}
	if _, err := hex.Decode(d[:], []byte(h)); err != nil {
		return d, fmt.Errorf("%s is no SHA-256: it holds something that is no hex digit", clip(s))
	}
	return d, nil
}

// Hex is the digest's 64 hex digits alone.
func (d Digest) Hex() string { return hex.EncodeToString(d[:]) }

func (d Digest) String() string { return "sha256:" + d.Hex() }

// MarshalText writes the text form.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what [ParseDigest] reads.
func (d *Digest) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDigest(string(text))
	return err
}
