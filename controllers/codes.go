package controllers

import "net/http"

// code is the word by which a program recognizes an error, while its sentence is for people and may change. Only problems
// have it. docs/errors.md and web/openapi.yaml say what to do about each.
type code int

const (
	bodyIncomplete code = iota
	bodyInvalid
	fieldInvalid
	fieldMissing
	fieldReadOnly
	fieldUnknown
	fileInvalid
	parameterInvalid
	parameterUnknown
	keyInvalid
	keyMissing
	crossSite
	keyReadOnly
	changesOff
	pathNotFound
	userNotFound
	methodNotAllowed
	bodyTooSlow
	emailUsed
	cursorGone
	changedMeanwhile
	bodyTooLarge
	formRefused
	hostRefused
	rowsRefused
	tooManyDeletions
	internalError
	outcomeUnknown
	storageFailed
	noRoom
	tooManyBodies
	tooManyImports
	tooManyWaiting
)

// Code is what clients see of a code: its word, and the status of its errors.
type Code struct {
	Word   string
	Status int
}

// Codes are all codes, by status.
var Codes = []Code{
	bodyIncomplete:   {"body_incomplete", http.StatusBadRequest},
	bodyInvalid:      {"body_invalid", http.StatusBadRequest},
	fieldInvalid:     {"field_invalid", http.StatusBadRequest},
	fieldMissing:     {"field_missing", http.StatusBadRequest},
	fieldReadOnly:    {"field_read_only", http.StatusBadRequest},
	fieldUnknown:     {"field_unknown", http.StatusBadRequest},
	fileInvalid:      {"file_invalid", http.StatusBadRequest},
	parameterInvalid: {"parameter_invalid", http.StatusBadRequest},
	parameterUnknown: {"parameter_unknown", http.StatusBadRequest},
	keyInvalid:       {"key_invalid", http.StatusUnauthorized},
	keyMissing:       {"key_missing", http.StatusUnauthorized},
	crossSite:        {"cross_site", http.StatusForbidden},
	keyReadOnly:      {"key_read_only", http.StatusForbidden},
	changesOff:       {"changes_off", http.StatusNotFound},
	pathNotFound:     {"path_not_found", http.StatusNotFound},
	userNotFound:     {"user_not_found", http.StatusNotFound},
	methodNotAllowed: {"method_not_allowed", http.StatusMethodNotAllowed},
	bodyTooSlow:      {"body_too_slow", http.StatusRequestTimeout},
	emailUsed:        {"email_used", http.StatusConflict},
	cursorGone:       {"cursor_gone", http.StatusGone},
	changedMeanwhile: {"changed_meanwhile", http.StatusPreconditionFailed},
	bodyTooLarge:     {"body_too_large", http.StatusRequestEntityTooLarge},
	formRefused:      {"form_refused", http.StatusUnsupportedMediaType},
	hostRefused:      {"host_refused", http.StatusMisdirectedRequest},
	rowsRefused:      {"rows_refused", http.StatusUnprocessableEntity},
	tooManyDeletions: {"too_many_deletions", http.StatusUnprocessableEntity},
	internalError:    {"internal_error", http.StatusInternalServerError},
	outcomeUnknown:   {"outcome_unknown", http.StatusInternalServerError},
	storageFailed:    {"storage_failed", http.StatusInternalServerError},
	noRoom:           {"no_room", http.StatusServiceUnavailable},
	tooManyBodies:    {"too_many_bodies", http.StatusServiceUnavailable},
	tooManyImports:   {"too_many_imports", http.StatusServiceUnavailable},
	tooManyWaiting:   {"too_many_waiting", http.StatusServiceUnavailable},
}
