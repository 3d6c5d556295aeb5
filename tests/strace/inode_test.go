//go:build strace

package strace

import (
	"os"
	"path/filepath"
	"slices"
)

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
