package main

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestACommandThatDoesNotEnd: told to end, it is waited for, and not for ever.
func TestACommandThatDoesNotEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wrong := errors.New("wrong")
	if err := ended(ctx, time.Hour, func() error { return wrong }); err != wrong {
		t.Errorf("what it said is lost: %v", err)
	}
	blocked := make(chan struct{})
	defer close(blocked)
	if err := ended(ctx, time.Nanosecond, func() error { <-blocked; return nil }); err != context.Canceled {
		t.Errorf("it ended with %v", err)
	}
}
