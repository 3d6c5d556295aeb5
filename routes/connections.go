package routes

import (
	"container/list"
	"net"
	"net/http"
	"sync"
)

// connections closes the connection that has been idle longest if there are more than most. 10,000 idle connections
// took 145 MB, which kept the garbage collector busy.
type connections struct {
	most int
	mu   sync.Mutex
	open map[net.Conn]*list.Element // its place in idle; nil while it is busy
	idle list.List                  // of net.Conn, longest idle first
}

func newConnections(most int) *connections {
	return &connections{most: most, open: map[net.Conn]*list.Element{}}
}

// note is the server's ConnState.
func (c *connections) note(connection net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.open[connection]; at != nil {
		c.idle.Remove(at)
	}
	switch state {
	case http.StateClosed, http.StateHijacked:
		delete(c.open, connection)
	case http.StateIdle:
		c.open[connection] = c.idle.PushBack(connection)
	default:
		c.open[connection] = nil
	}
	if longest := c.idle.Front(); longest != nil && len(c.open) > c.most {
		closed := c.idle.Remove(longest).(net.Conn)
		delete(c.open, closed)
		_ = closed.Close() // the server notices
	}
}
