//go:build strace

package strace

import (
	"fmt"
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

// copyOf returns a copy of a directory.
func copyOf(t testing.TB, root string) (directory string) {
	t.Helper()
	directory = t.TempDir()
	program.Must(t, os.CopyFS(directory, os.DirFS(root)))
	return directory
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
func (d *disk) end(c *call) error {
	switch c.name {
	case "open", "openat":
		return d.open(c)
	case "mkdir", "mkdirat":
		return d.name(c.texts[0], newDirectory(c.texts[0]))
	case "unlink", "unlinkat", "rmdir":
		return d.name(c.texts[0], nil)
	case "link", "linkat":
		_, _, file := d.find(c.texts[0])
		return d.name(c.texts[1], file)
	case "rename", "renameat", "renameat2":
		return d.rename(c.texts[0], c.texts[1])
	}
	number, path := c.file()
	file := d.files[descriptor{c.process, number}]
	if file == nil {
		if strings.HasPrefix(path+"/", d.root+"/") && c.name != "close" {
			return fmt.Errorf("%s was not seen to be opened", path)
		}
		return nil
	}
	return file.end(c)
}

// end carries out a call on an open file. Only SQLite's -shm file is written through memory, and it holds nothing that
// must last.
func (f *opened) end(c *call) error {
	switch c.name {
	case "write":
		f.write(f.offset, c.bytes())
		f.offset += c.result
	case "pwrite64":
		f.write(c.last(), c.bytes())
	case "ftruncate":
		f.pending = append(f.pending, change{offset: c.last(), cut: true})
	case "lseek":
		f.offset = c.result
	case "fsync", "fdatasync":
		f.flush(c.covers - f.flushed)
	case "mmap":
		if strings.Contains(c.arguments, "MAP_SHARED") && !strings.HasSuffix(f.path, "-shm") {
			return fmt.Errorf("%s is written through memory", f.path)
		}
	default:
		return fmt.Errorf("%s of %s is not foreseen", c.name, f.path)
	}
	return nil
}

func (d *disk) open(c *call) error {
	path := c.texts[0]
	directory, name, file := d.find(path)
	if directory == nil && file == nil {
		return nil
	}
	if strings.Contains(c.arguments, "O_APPEND") || strings.Contains(c.arguments, "O_TMPFILE") {
		return fmt.Errorf("%s is opened in a way that is not foreseen", path)
	}
	if file == nil {
		file = &inode{path: path}
		directory.rename(map[string]*inode{name: file})
	} else if strings.Contains(c.arguments, "O_TRUNC") {
		file.pending = append(file.pending, change{cut: true})
	}
	d.files[descriptor{c.process, int(c.result)}] = &opened{inode: file}
	return nil
}

// name gives a path to a file, or to nothing.
func (d *disk) name(path string, file *inode) error {
	directory, name, _ := d.find(path)
	if directory != nil {
		directory.rename(map[string]*inode{name: file})
	}
	return nil
}

// rename changes two names in one step, as every file system does.
func (d *disk) rename(from, to string) error {
	directory, old, file := d.find(from)
	other, name, _ := d.find(to)
	if directory != other {
		return fmt.Errorf("a file is moved to another directory: %s", to)
	}
	if directory != nil {
		directory.rename(map[string]*inode{old: nil, name: file})
	}
	return nil
}

// An inode is a file or a directory.
type inode struct {
	path    string            // when it was made
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

func readInode(path string) (*inode, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		data, err := os.ReadFile(path)
		return &inode{path: path, kept: content{data: data}}, err
	}
	made := newDirectory(path)
	entries, err := os.ReadDir(path)
	for _, entry := range entries {
		file, err := readInode(filepath.Join(path, entry.Name()))
		if err != nil {
			return nil, err
		}
		made.names[entry.Name()], made.kept.names[entry.Name()] = file, file
	}
	return made, err
}

func newDirectory(path string) *inode {
	return &inode{path: path, names: map[string]*inode{}, kept: content{names: map[string]*inode{}}}
}

func (i *inode) write(offset int64, data string) {
	i.pending = append(i.pending, change{offset: offset, data: data})
}

// flush makes the first changes certain, unless another flush has.
func (i *inode) flush(n int) {
	for ; n > 0; n-- {
		i.kept.apply(i.pending[0])
		i.pending, i.flushed = i.pending[1:], i.flushed+1
	}
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

func (i *inode) rename(names map[string]*inode) {
	i.pending = append(i.pending, change{names: names})
	now := content{names: i.names}
	now.apply(i.pending[len(i.pending)-1])
}
