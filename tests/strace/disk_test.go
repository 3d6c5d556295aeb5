//go:build strace

package strace

import (
	"fmt"
	"os"
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
