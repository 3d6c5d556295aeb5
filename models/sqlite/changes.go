package sqlite

// maxChanges is how many ids are remembered; a list of which more users have changed is read as a whole.
const maxChanges = 4096

// changes are what was committed since somebody last asked: the users that we have written, or anything at all.
type changes struct {
	anything bool
	ids      []int64
}

// user notes a write to a user, before its commit: that more is noted than was committed does no harm.
func (c *changes) user(id int64) {
	if len(c.ids) == maxChanges {
		c.all()
	}
	if !c.anything {
		c.ids = append(c.ids, id)
	}
}

// all notes that anything may have been written.
func (c *changes) all() { *c = changes{anything: true} }

// take returns the changes and forgets them.
func (c *changes) take() changes {
	taken := *c
	*c = changes{}
	return taken
}
