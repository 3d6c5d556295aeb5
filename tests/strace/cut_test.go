//go:build strace

package strace

import (
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// sector is what a disk writes as a whole.
const sector = 512

// A chance says how likely what was not flushed is on disk nevertheless: 0 is never, and 1 is always. The data of a file
// is there or not sector by sector, each as it was at some time since the flush, and its size is one that it had since.
type chance struct {
	random             *rand.Rand
	data, sizes, names float64
	garbage            bool // sectors that were never written hold what the disk held there before
	byFile             bool // each file has chances of its own
}

func everything() chance { return chance{data: 1, sizes: 1, names: 1} }

// chances are what is tried at each cut.
func chances(random *rand.Rand) chance {
	switch random.IntN(8) {
	case 0:
		return everything()
	case 1:
		return chance{random: random, data: 1, sizes: 1}
	case 2:
		return chance{random: random, names: 1}
	case 3:
		return chance{random: random, sizes: 1, names: 1, garbage: random.IntN(2) == 0}
	case 4:
		return chance{random: random, data: random.Float64(), sizes: 1, names: 1}
	}
	return chance{random: random, names: 0.5, garbage: random.IntN(4) == 0, byFile: true}
}

// happens decides one case.
func (c chance) happens(likely float64) bool {
	return likely == 1 || likely > 0 && c.random.Float64() < likely
}

// until returns how many of n changes are there.
func (c chance) until(n int, likely float64) int {
	switch {
	case c.happens(likely):
		return n
	case likely == 0:
		return 0
	}
	return c.random.IntN(n + 1)
}

// after returns what a file or a directory holds on disk if changes were not flushed.
func (i *inode) after(changes []change, c chance) content {
	if c.byFile {
		likely := []float64{0, 0.1, 0.5, 0.9, 1}
		c.data, c.sizes = likely[c.random.IntN(len(likely))], likely[c.random.IntN(len(likely))]
	}
	if i.names == nil {
		return content{data: i.dataAfter(changes, c)}
	}
	now := content{names: maps.Clone(i.kept.names)}
	for _, change := range changes {
		if c.happens(c.names) {
			now.apply(change)
		}
	}
	return now
}

func (i *inode) dataAfter(changes []change, c chance) []byte {
	sizes := []int64{int64(len(i.kept.data))}
	largest := sizes[0]
	for _, change := range changes {
		next := change.offset + int64(len(change.data))
		if !change.cut {
			next = max(next, sizes[len(sizes)-1])
		}
		sizes, largest = append(sizes, next), max(largest, next)
	}
	data := make([]byte, largest)
	if c.garbage {
		for at := range data {
			data[at] = byte(c.random.Uint32())
		}
	}
	copy(data, i.kept.data)
	until := make([]int, largest/sector+1) // how many changes each sector has
	for at := range until {
		until[at] = -1
	}
	for n, change := range changes {
		end := change.offset + int64(len(change.data))
		if change.cut {
			end = largest
		}
		for from := change.offset; from < end; from = (from/sector + 1) * sector {
			if until[from/sector] < 0 {
				until[from/sector] = c.until(len(changes), c.data)
			}
			if n >= until[from/sector] {
				continue
			}
			part := data[from:min(end, (from/sector+1)*sector)]
			clear(part)
			if !change.cut {
				copy(part, change.data[from-change.offset:])
			}
		}
	}
	return data[:sizes[c.until(len(changes), c.sizes)]]
}

// writeTo writes what may be on the disk after a power cut into an empty directory.
func (d *disk) writeTo(directory string, c chance) error {
	return writeInode(d.top, directory, c, map[*inode]string{})
}

func writeInode(i *inode, path string, c chance, written map[*inode]string) error {
	if first, again := written[i]; again {
		return os.Link(first, path)
	}
	written[i] = path
	now := i.after(i.pending, c)
	if i.names == nil {
		if strings.HasSuffix(path, "-shm") { // it is written through memory
			now.data = make([]byte, 32<<10)
			for at := range now.data {
				now.data[at] = byte(rand.Uint32())
			}
		}
		return os.WriteFile(path, now.data, 0o600)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	for name, file := range now.names {
		if err := writeInode(file, filepath.Join(path, name), c, written); err != nil {
			return err
		}
	}
	return nil
}
