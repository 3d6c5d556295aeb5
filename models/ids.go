package models

// IDSet is a set of ids, 64 consecutive ones in each word: 1,000,000 users with consecutive ids take half a MiB.
type IDSet map[int64]uint64

// Add adds an id.
func (s IDSet) Add(id int64) { s[id>>6] |= 1 << (id & 63) }

// Has reports whether an id was added.
func (s IDSet) Has(id int64) bool { return s[id>>6]&(1<<(id&63)) != 0 }
