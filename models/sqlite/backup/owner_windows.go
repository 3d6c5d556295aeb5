package backup

import "os"

// giveTo does nothing: a new file belongs to the user that the directory says.
func giveTo(string, os.FileInfo) error { return nil }
