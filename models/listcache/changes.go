package listcache

// MaxChanges is how many ids are remembered. After more changes, the whole list is read again.
const MaxChanges = 4096

// Changes are what was committed since the last Take: the users with certain ids, or anything at all.
type Changes struct {
	anything bool
	ids      []int64
}

// Unknown returns changes in which anything may have been committed.
func Unknown() Changes { return Changes{anything: true} }

// Add notes a write to a user, before its commit. Noting more than is committed does no harm.
func (c *Changes) Add(id int64) {
	if len(c.ids) == MaxChanges {
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

// Take returns the changes and clears them.
func (c *Changes) Take() Changes {
	taken := *c
	*c = Changes{}
	return taken
}
