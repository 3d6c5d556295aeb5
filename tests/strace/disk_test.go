//go:build strace

package strace

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"users-api/tests/program"
)

// A disk is what the files below a directory are after some of the calls of a trace, and what is certain of them after a
// power cut: only what was flushed. A flush of a file covers its content, and not its name; a flush of a directory covers
// the names in it.
type disk struct {
	t     testing.TB
	root  string
	top   *inode
	files map[descriptor]*opened
}

type descriptor struct {
	process string
	number  int
}

type opened struct {
	*inode
	offset int64 // of the next write
}

// An inode is a file or a directory.
type inode struct {
	names   map[string]*inode // of a directory, as processes see them
	kept    content           // what was flushed
	flushed int               // how many changes that were
	pending []change          // the others, which may be on disk or not
}

// content is what a file holds, or which names a directory has.
type content struct {
	data  []byte
	names map[string]*inode
}

// A change is one of data, of the size, or of names.
type change struct {
	offset int64
	data   string
	cut    bool              // the file ends at the offset from now on, or is filled with zeros up to it
	names  map[string]*inode // nil if the name is removed
}

// copyOf returns a copy of a directory.
func copyOf(t testing.TB, root string) (directory string) {
	t.Helper()
	directory = t.TempDir()
	program.Must(t, os.CopyFS(directory, os.DirFS(root)))
	return directory
}

// readInode returns what is at a path, as something that was flushed.
func readInode(t testing.TB, path string) *inode {
	t.Helper()
	info, err := os.Stat(path)
	program.Must(t, err)
	if !info.IsDir() {
		return &inode{kept: content{data: []byte(program.ReadFile(t, path))}}
	}
	made := newDirectory()
	for _, name := range program.NamesIn(t, path) {
		made.names[name] = readInode(t, filepath.Join(path, name))
	}
	made.kept.names = maps.Clone(made.names)
	return made
}

func newDirectory() *inode {
	return &inode{names: map[string]*inode{}, kept: content{names: map[string]*inode{}}}
}

// find returns the directory that a path is in, its name there, and what it leads to: nil if there is nothing, or if the
// path is not on this disk.
func (d *disk) find(path string) (directory *inode, name string, found *inode) {
	if path == d.root {
		return nil, "", d.top
	}
	rest, inside := strings.CutPrefix(path, d.root+"/")
	if !inside {
		return nil, "", nil
	}
	directory = d.top
	for {
		first, others, more := strings.Cut(rest, "/")
		if !more {
			return directory, first, directory.names[first]
		}
		if directory = directory.names[first]; directory == nil || directory.names == nil {
			return nil, "", nil
		}
		rest = others
	}
}

// begin notes what holds once a call has begun: a flush covers what was changed before.
func (d *disk) begin(c *call) {
	number, _ := c.file()
	file := d.files[descriptor{c.process, number}]
	switch {
	case file == nil:
	case c.name == "close":
		delete(d.files, descriptor{c.process, number})
	case c.name == "fsync", c.name == "fdatasync":
		c.covers = file.flushed + len(file.pending)
	}
}

// end carries out a call that went well.
func (d *disk) end(c *call) {
	switch c.name {
	case "open", "openat":
		d.open(c)
	case "mkdir", "mkdirat":
		d.name(c.texts[0], newDirectory())
	case "unlink", "unlinkat", "rmdir":
		d.name(c.texts[0], nil)
	case "link", "linkat":
		_, _, file := d.find(c.texts[0])
		d.name(c.texts[1], file)
	case "rename", "renameat", "renameat2":
		d.rename(c.texts[0], c.texts[1])
	default:
		number, path := c.file()
		if file := d.files[descriptor{c.process, number}]; file != nil {
			d.use(file, path, c)
		} else if strings.HasPrefix(path+"/", d.root+"/") && c.name != "close" {
			d.t.Fatalf("%s was not seen to be opened", path)
		}
	}
}

// use carries out a call on an open file. Only SQLite's -shm file is written through memory, and it holds nothing that
// must last.
func (d *disk) use(file *opened, path string, c *call) {
	switch c.name {
	case "write":
		file.pending = append(file.pending, change{offset: file.offset, data: c.bytes()})
		file.offset += c.result
	case "pwrite64":
		file.pending = append(file.pending, change{offset: c.last(), data: c.bytes()})
	case "ftruncate":
		file.pending = append(file.pending, change{offset: c.last(), cut: true})
	case "lseek":
		file.offset = c.result
	case "fsync", "fdatasync":
		for file.flushed < c.covers { // unless another flush has
			file.kept.apply(file.pending[0])
			file.pending, file.flushed = file.pending[1:], file.flushed+1
		}
	case "mmap":
		if strings.Contains(c.arguments, "MAP_SHARED") && !strings.HasSuffix(path, "-shm") {
			d.t.Fatalf("%s is written through memory", path)
		}
	default:
		d.t.Fatalf("%s of %s is not foreseen", c.name, path)
	}
}

func (d *disk) open(c *call) {
	directory, name, file := d.find(c.texts[0])
	if directory == nil && file == nil {
		return
	}
	if strings.Contains(c.arguments, "O_APPEND") || strings.Contains(c.arguments, "O_TMPFILE") {
		d.t.Fatalf("%s is opened in a way that is not foreseen", c.texts[0])
	}
	if file == nil {
		file = &inode{}
		directory.rename(map[string]*inode{name: file})
	} else if strings.Contains(c.arguments, "O_TRUNC") {
		file.pending = append(file.pending, change{cut: true})
	}
	d.files[descriptor{c.process, int(c.result)}] = &opened{inode: file}
}

// name gives a path to a file, or to nothing.
func (d *disk) name(path string, file *inode) {
	if directory, name, _ := d.find(path); directory != nil {
		directory.rename(map[string]*inode{name: file})
	}
}

// rename changes two names in one step, as every file system does.
func (d *disk) rename(from, to string) {
	directory, old, file := d.find(from)
	other, name, _ := d.find(to)
	if directory != other {
		d.t.Fatalf("a file is moved to another directory: %s", to)
	}
	if directory != nil {
		directory.rename(map[string]*inode{old: nil, name: file})
	}
}

func (i *inode) rename(names map[string]*inode) {
	i.pending = append(i.pending, change{names: names})
	now := content{names: i.names}
	now.apply(i.pending[len(i.pending)-1])
}

func (c *content) apply(done change) {
	for name, file := range done.names {
		if c.names[name] = file; file == nil {
			delete(c.names, name)
		}
	}
	end := int(done.offset) + len(done.data)
	if len(c.data) < end {
		c.data = append(c.data, make([]byte, end-len(c.data))...)
	}
	copy(c.data[done.offset:], done.data)
	if done.cut {
		c.data = slices.Clip(c.data[:end]) // what is appended later begins with zeros
	}
}

// A chance is how likely a change that was not flushed is on disk nevertheless. Each file and each directory has one of these.
type chance []float64

var (
	onlyFlushed = chance{0}
	everything  = chance{1}
	anything    = chance{0, 0.1, 0.5, 0.9, 1}
)

// writeTo writes what may be on the disk after a power cut into a directory that is empty or does not exist.
func (d *disk) writeTo(directory string, c chance) {
	d.t.Helper()
	d.write(d.top, directory, c, map[*inode]string{})
}

func (d *disk) write(i *inode, path string, c chance, written map[*inode]string) {
	d.t.Helper()
	if strings.HasSuffix(path, "-shm") { // SQLite makes it again
		return
	}
	if first, again := written[i]; again {
		program.Must(d.t, os.Link(first, path))
		return
	}
	written[i] = path
	now, likely := content{bytes.Clone(i.kept.data), maps.Clone(i.kept.names)}, c[rand.IntN(len(c))]
	for _, change := range i.pending {
		if rand.Float64() < likely {
			now.apply(change)
		}
	}
	if i.names == nil {
		program.Must(d.t, os.WriteFile(path, now.data, 0o600))
		return
	}
	program.Must(d.t, os.MkdirAll(path, 0o700))
	for name, file := range now.names {
		d.write(file, filepath.Join(path, name), c, written)
	}
}
