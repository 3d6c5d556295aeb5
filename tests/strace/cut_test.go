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

// A chance says how likely what was not flushed is on disk nevertheless: 0 is never, and 1 is always. Each file has one of
// these for its data and one for its size, and each directory one for its names. The data of a file is there or not sector by
// sector, each as it was at some time since the flush, and its size is one that it had since.
type chance struct {
	likely  []float64
	garbage bool // sectors that were never written hold what the disk held there before
}

func onlyFlushed() chance { return chance{likely: []float64{0}} }

func everything() chance { return chance{likely: []float64{1}} }

func anything() chance {
	return chance{likely: []float64{0, 0.1, 0.5, 0.9, 1}, garbage: rand.IntN(4) == 0}
}

func (c chance) one() float64 { return c.likely[rand.IntN(len(c.likely))] }

// until returns how many of n changes are there.
func until(n int, likely float64) int {
	switch {
	case rand.Float64() < likely:
		return n
	case likely == 0:
		return 0
	}
	return rand.IntN(n + 1)
}

// after returns what a file or a directory holds on disk if changes were not flushed.
func (i *inode) after(changes []change, c chance) content {
	if i.names == nil {
		return content{data: i.dataAfter(changes, c)}
	}
	likely := c.one()
	now := content{names: maps.Clone(i.kept.names)}
	for _, change := range changes {
		if rand.Float64() < likely {
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
			data[at] = byte(rand.Uint32())
		}
	}
	copy(data, i.kept.data)
	likely, have := c.one(), make([]int, largest/sector+1) // how many changes each sector has
	for at := range have {
		have[at] = until(len(changes), likely)
	}
	for n, change := range changes {
		end := change.offset + int64(len(change.data))
		if change.cut {
			end = largest
		}
		for from := change.offset; from < end; from = (from/sector + 1) * sector {
			if n >= have[from/sector] {
				continue
			}
			part := data[from:min(end, (from/sector+1)*sector)]
			clear(part)
			if !change.cut {
				copy(part, change.data[from-change.offset:])
			}
		}
	}
	return data[:sizes[until(len(changes), c.one())]]
}

// writeTo writes what may be on the disk after a power cut into a directory that is empty or does not exist.
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
