// Command try uses a service with USER_FIELDS=phone,user through the client that oapi-codegen made from its document, and
// ends with 1 when an answer is not what the document says. See .ci/clients.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"example.org/try/client"
)

func main() {
	if err := try(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func try(url string) error {
	api, err := client.NewClientWithResponses(url)
	if err != nil {
		return err
	}
	ctx, phone, user := context.Background(), "1815", "ada"
	created, err := api.CreateUserWithResponse(ctx, client.NewUser{Name: "Ada", Email: "ada@example.org", Phone: &phone})
	if err != nil || created.JSON201 == nil || *created.JSON201.Phone != phone || created.JSON201.User != nil {
		return fmt.Errorf("create: %v %s", err, created.Body)
	}
	changed, err := api.ChangeUserWithResponse(ctx, fmt.Sprint(created.JSON201.Id), nil, client.UserChange{User: &user})
	if err != nil || changed.JSON200 == nil || *changed.JSON200.Phone != phone || *changed.JSON200.User != user {
		return fmt.Errorf("change: %v %s", err, changed.Body)
	}
	people := strings.NewReader("name,email,phone\nBen,ben@example.org,1815\n")
	imported, err := api.ImportCsvWithBodyWithResponse(ctx, nil, "text/csv", people)
	if err != nil || imported.JSON200 == nil || len(imported.JSON200.IgnoredColumns) > 0 {
		return fmt.Errorf("import: %v %s", err, imported.Body)
	}
	phones, users := []string{phone}, []string{user}
	for found, params := range map[int]*client.ListUsersParams{2: {Phone: &phones}, 1: {Phone: &phones, User: &users}} {
		list, err := api.ListUsersWithResponse(ctx, params)
		if err != nil || list.JSON200 == nil || len(*list.JSON200) != found {
			return fmt.Errorf("find: %v %s", err, list.Body)
		}
	}
	return nil
}
