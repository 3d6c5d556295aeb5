package listcache

// maxChanges is how many ids are remembered; a list of which more users have changed is read as a whole.
const maxChanges = 4096

// Changes are what was committed since somebody last asked: the users with some ids, or anything at all.
type Changes struct {
	anything bool
	ids      []int64
}

// Unknown is returned where anything may have been committed.
func Unknown() Changes { return Changes{anything: true} }

// Add notes a write to a user, before its commit: that more is noted than was committed does no harm.
func (c *Changes) Add(id int64) {
	if len(c.ids) == maxChanges {
		c.AddAll()
	}
	if !c.anything {
		c.ids = append(c.ids, id)
	}
}

// AddAll notes that anything may have been written.
func (c *Changes) AddAll() { *c = Unknown() }

// Anything reports whether anything may have been written.
func (c *Changes) Anything() bool { return c.anything }

// Take returns the changes and forgets them.
func (c *Changes) Take() Changes {
	taken := *c
	*c = Changes{}
	return taken
}
