// Command try uses a service through the client that oapi-codegen made from its document: it creates, finds, changes,
// reads in a batch, imports and deletes a user, follows the feed of changes, and ends with 1 when an answer is not what
// the document says. See .ci/clients.
package main

import (
	"context"
	"fmt"
	"net/http"
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
	ctx := context.Background()
	ada := client.NewUser{Name: "Ada", Email: "ada@example.org"}
	created, err := api.CreateUserWithResponse(ctx, ada)
	if err != nil || created.JSON201 == nil {
		return fmt.Errorf("create: %v %s", err, created.Body)
	}
	id, emails, others := created.JSON201.Id, []string{ada.Email, "nobody"}, []string{"Nobody"}
	found, err := api.ListUsersWithResponse(ctx, &client.ListUsersParams{Email: &emails, NotName: &others})
	if err != nil || found.JSON200 == nil || len(*found.JSON200) != 1 || (*found.JSON200)[0].Id != id {
		return fmt.Errorf("find: %v %s", err, found.Body)
	}
	if err := change(ctx, api, id, found.HTTPResponse.Header.Get("ETag")); err != nil {
		return err
	}
	if err := atOnce(ctx, api, id); err != nil {
		return err
	}
	if err := importAndDelete(ctx, api, id); err != nil {
		return err
	}
	return follow(ctx, api, id, found.HTTPResponse.Header.Get("Changes-Cursor"))
}

func change(ctx context.Context, api *client.ClientWithResponses, id int64, tag string) error {
	name, params := "Augusta", &client.ChangeUserParams{IfMatch: &tag}
	changed, err := api.ChangeUserWithResponse(ctx, fmt.Sprint(id), params, client.UserChange{Name: &name})
	if err != nil || changed.JSON200 == nil || changed.JSON200.Name != name {
		return fmt.Errorf("change: %v %s", err, changed.Body)
	}
	again, err := api.ChangeUserWithResponse(ctx, fmt.Sprint(id), params, client.UserChange{Name: &name})
	// Its status and not its JSON412: oapi-codegen takes no "application/json; charset=utf-8" for JSON where there are
	// problems too.
	if err != nil || again.StatusCode() != http.StatusPreconditionFailed {
		return fmt.Errorf("change what was changed: %v %s", err, again.Body)
	}
	return nil
}

// atOnce sends two requests in one: the second is refused, and changes nothing.
func atOnce(ctx context.Context, api *client.ClientWithResponses, id int64) error {
	path, tags := fmt.Sprint("/api/users/", id), map[string]string{"If-Match": `"x"`}
	var nothing any = map[string]any{}
	answer, err := api.SendBatchWithResponse(ctx, client.Batch{Requests: []client.BatchRequest{
		{Method: client.GET, Path: path}, {Method: client.PATCH, Path: path, Headers: &tags, Body: &nothing},
	}})
	if err != nil || answer.JSON200 == nil || len(answer.JSON200.Responses) != 2 {
		return fmt.Errorf("two at once: %v %s", err, answer.Body)
	}
	read, refused := answer.JSON200.Responses[0], answer.JSON200.Responses[1]
	if read.Status != http.StatusOK || refused.Status != http.StatusPreconditionFailed || refused.Headers["ETag"] != read.Headers["ETag"] {
		return fmt.Errorf("two at once: %s", answer.Body)
	}
	return nil
}

func importAndDelete(ctx context.Context, api *client.ClientWithResponses, id int64) error {
	people := strings.NewReader("name,email\nBen,ben@example.org\nAda,ada@example.org\n")
	skip := client.ImportCsvParamsOnConflictSkip
	imported, err := api.ImportCsvWithBodyWithResponse(ctx, &client.ImportCsvParams{OnConflict: &skip}, "text/csv", people)
	if err != nil || imported.JSON200 == nil || imported.JSON200.Created != 1 || imported.JSON200.Skipped != 1 {
		return fmt.Errorf("import: %v %s", err, imported.Body)
	}
	deleted, err := api.DeleteUserWithResponse(ctx, fmt.Sprint(id), nil)
	if err != nil || deleted.StatusCode() != http.StatusNoContent {
		return fmt.Errorf("delete: %v %s", err, deleted.Body)
	}
	gone, err := api.GetUserWithResponse(ctx, fmt.Sprint(id), nil)
	if err != nil || gone.StatusCode() != http.StatusNotFound {
		return fmt.Errorf("read who is gone: %v %s", err, gone.Body)
	}
	return nil
}

func follow(ctx context.Context, api *client.ClientWithResponses, id int64, after string) error {
	wait := 60
	feed, err := api.ListChangesWithResponse(ctx, &client.ListChangesParams{After: &after, Wait: &wait})
	if err != nil || feed.JSON200 == nil || len(feed.JSON200.Changes) != 3 {
		return fmt.Errorf("follow: %v %s", err, feed.Body)
	}
	changed, created, deleted := feed.JSON200.Changes[0], feed.JSON200.Changes[1], feed.JSON200.Changes[2]
	if changed.Op != client.ChangeOpChanged || *changed.Id != id || changed.User != nil || created.User == nil ||
		created.User.Name != "Ben" || deleted.Op != client.ChangeOpDeleted || deleted.Cursor != feed.JSON200.Next {
		return fmt.Errorf("the changes are %s", feed.Body)
	}
	gone := "gone"
	refused, err := api.ListChangesWithResponse(ctx, &client.ListChangesParams{After: &gone})
	if err != nil || refused.StatusCode() != http.StatusGone {
		return fmt.Errorf("follow after a cursor that has gone: %v %s", err, refused.Body)
	}
	return nil
}
