package models

// Stats are figures of a storage engine, counted since it was opened. They are for whoever runs the service and change
// nothing.
type Stats struct {
	// CommitWrites counts commits by how many writes shared them: at most 1, then at most 2, 4, 8 and so on to 512.
	CommitWrites [10]uint64
	// Writes is how many writes all these commits held.
	Writes uint64
	// How lists were answered: Kept from memory as they were, Extended after the changed part was read again, Read
	// after all users were read, and Streamed while they were read, because they were too large to be kept.
	Kept, Extended, Read, Streamed uint64
	// DatabaseBytes and WALBytes are the sizes of the database and of what is not moved into it yet.
	DatabaseBytes, WALBytes int64
}
