package forge

import "sync"

// cache keeps what an id names for good: commits, folders, files, and how two commits
// are related. Refs, pull requests and whatever else moves are never in it. When it is
// full it keeps nothing more, and what is not there is asked for again.
type cache struct {
	mu    sync.Mutex
	known map[string]any
	bytes int64
}

// keep stores what must not be changed afterwards; size is in bytes, roughly.
func (c *cache) keep(key string, value any, size int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.known[key]; ok || len(c.known) == maxKnown || c.bytes+size > maxKnownBytes {
		return
	}
	if c.known == nil {
		c.known = map[string]any{}
	}
	c.known[key] = value
	c.bytes += size
}

// recall gives what was kept; ok is false for what was not.
func recall[T any](c *cache, key string) (value T, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	value, ok = c.known[key].(T)
	return value, ok
}
