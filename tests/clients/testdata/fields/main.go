// Command try uses a service with USER_FIELDS=phone,user,active:boolean,joined:date,role:staff|guest through the client that
// oapi-codegen made from its document, and ends with 1 when an answer is not what the document says. See .ci/clients.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/oapi-codegen/runtime/types"

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
	var active client.NewUser_Active
	var joined client.NewUser_Joined
	var role client.NewUser_Role
	day := types.Date{Time: time.Date(2026, 12, 31, 0, 0, 0, 0, time.UTC)}
	err = errors.Join(active.FromNewUserActive0(true), joined.FromNewUserJoined0(day), role.FromNewUserRole0(client.NewUserRole0Guest))
	if err != nil {
		return err
	}
	created, err := api.CreateUserWithResponse(ctx, client.NewUser{Name: "Ada", Email: "ada@example.org", Phone: &phone,
		Active: &active, Joined: &joined, Role: &role})
	if err != nil || created.JSON201 == nil || *created.JSON201.Phone != phone || created.JSON201.User != nil {
		return fmt.Errorf("create: %v %s", err, created.Body)
	}
	changed, err := api.ChangeUserWithResponse(ctx, fmt.Sprint(created.JSON201.Id), nil, client.UserChange{User: &user})
	if err != nil || changed.JSON200 == nil || *changed.JSON200.Phone != phone || *changed.JSON200.User != user {
		return fmt.Errorf("change: %v %s", err, changed.Body)
	}
	isActive, failed := changed.JSON200.Active.AsUserActive0()
	since, err := changed.JSON200.Joined.AsUserJoined0()
	is, noRole := changed.JSON200.Role.AsUserRole0()
	if errors.Join(failed, err, noRole) != nil || !isActive || since != day || is != client.UserRole0Guest {
		return fmt.Errorf("types: %t %s %s", isActive, since, is)
	}
	old, err := api.ListUsersWithResponse(ctx, &client.ListUsersParams{JoinedTo: &day})
	if err != nil || old.JSON200 == nil || len(*old.JSON200) > 0 {
		return fmt.Errorf("range: %v %s", err, old.Body)
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
