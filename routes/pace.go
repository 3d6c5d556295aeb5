package routes

import "time"

// pace is how long a client may still keep us waiting. It starts with some time to spare, each KiB earns a second more,
// and there is a maximum: a client that keeps taking, or sending, 1 KiB/s is served however long that takes. Time in
// which the client waits for us does not count.
type pace struct {
	spare, most time.Duration
	rate        int // bytes per second
}

func (p *pace) moved(bytes int) {
	earned := time.Duration(float64(bytes) / float64(p.rate) * float64(time.Second))
	p.spare = min(p.spare+earned, p.most)
}
