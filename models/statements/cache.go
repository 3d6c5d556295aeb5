package statements

import (
	"sync"
	"sync/atomic"
)

// mostKept is how many texts a cache keeps. Requests rarely name more combinations of fields; a client that tries them
// all must not fill the memory.
const mostKept = 256

// cache keeps texts that are built when they are first needed.
type cache[K comparable, V any] struct {
	known sync.Map // from K to V
	size  atomic.Int64
}

func (c *cache[K, V]) get(key K, build func() V) V {
	if known, ok := c.known.Load(key); ok {
		return known.(V)
	}
	built := build()
	if c.size.Add(1) <= mostKept {
		c.known.Store(key, built)
	}
	return built
}
