// Command pocketbase is PocketBase with one collection of people, as its users would make it in the admin page:
// name and email, both required, email unique, open API rules.
//
// Everything else stays at its defaults: WAL, synchronous NORMAL, pages of at most 1,000 records, and its own log of
// requests. The bench asks for lists with skipTotal, which spares PocketBase the counting.
//
// This is the newest version that builds with the Go of go.mod: 0.40 asks for Go 1.27.
package main

import (
	"log"
	"os"

	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"
)

func main() {
	app := pocketbase.NewWithConfig(pocketbase.Config{DefaultDataDir: os.Getenv("DATA_DIR"), HideStartBanner: true})
	app.OnServe().BindFunc(func(event *core.ServeEvent) error {
		event.InstallerFunc = nil // it would open a browser
		if err := makePeople(event.App); err != nil {
			return err
		}
		return event.Next()
	})
	app.RootCmd.SetArgs([]string{"serve", "--http=127.0.0.1:" + os.Getenv("PORT")})
	if err := app.Start(); err != nil {
		log.Fatal(err)
	}
}

// makePeople makes the collection where it is missing.
func makePeople(app core.App) error {
	if app.HasTable("people") {
		return nil
	}
	open := types.Pointer("") // a rule that everybody satisfies
	people := core.NewBaseCollection("people")
	people.ListRule, people.ViewRule, people.CreateRule, people.DeleteRule = open, open, open, open
	people.Fields.Add(
		&core.TextField{Name: "name", Required: true},
		&core.EmailField{Name: "email", Required: true},
		&core.AutodateField{Name: "created", OnCreate: true},
	)
	people.AddIndex("people_email", true, "email", "")
	return app.Save(people)
}
