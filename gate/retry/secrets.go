package retry

import (
	"context"
	"errors"
	"strconv"
	"strings"
)

// Secrets are texts that no message may hold.
type Secrets []string

// Scrub gives an error whose text holds none of the secrets. Its chain ends
// here, apart from what says that the caller gave up: what a library wraps could
// hold a request with its headers.
func (s Secrets) Scrub(err error) error {
	text := s.Hide(err.Error())
	for _, sentinel := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, sentinel) {
			return &scrubbed{text, sentinel}
		}
	}
	return errors.New(text)
}

// Hide takes the secrets out of a text.
func (s Secrets) Hide(text string) string {
	for _, secret := range s {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "[redacted]")
		}
	}
	return text
}

// Quote shortens a service's own words for a message. The secrets leave first:
// half a token is no longer found, and still half a token.
func (s Secrets) Quote(data []byte) string {
	text := s.Hide(strings.TrimSpace(string(data)))
	if len(text) > maxErrorText {
		text = text[:maxErrorText] + "…"
	}
	return strconv.Quote(text)
}

type scrubbed struct {
	text  string
	cause error
}

func (e *scrubbed) Error() string { return e.text }
func (e *scrubbed) Unwrap() error { return e.cause }
