//go:build postgres

package histories

// processes is how many serve one database.
const processes = 3
