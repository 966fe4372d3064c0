package services

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
)

// Front is the HTTP side of a service, which can be told to fail.
type Front struct {
	URL string

	server *httptest.Server
	mu     sync.Mutex
	fail   int
	asked  int
}

// Always, given to Fail, makes a service fail until it is told otherwise.
const Always = -1

// Fail makes the next n requests answer 503.
func (f *Front) Fail(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = n
}

// Asked says how many requests there were, failed ones too.
func (f *Front) Asked() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked
}

// Close ends the service. Further requests are refused by the machine.
func (f *Front) Close() error {
	f.server.Close()
	return nil
}

func (f *Front) open(h http.Handler) {
	f.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f.failing() {
			http.Error(w, "told to fail", http.StatusServiceUnavailable)
			return
		}
		h.ServeHTTP(w, r)
	}))
	f.URL = f.server.URL
}

func (f *Front) failing() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	if f.fail > 0 {
		f.fail--
		return true
	}
	return f.fail == Always
}

// unhex decodes what this package encoded.
func unhex(id string) []byte {
	raw, err := hex.DecodeString(id)
	if err != nil {
		panic(fmt.Sprintf("services: the log id %q is no hex", id))
	}
	return raw
}
