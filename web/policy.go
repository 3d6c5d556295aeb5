package web

// pagePolicy lets the page load its own files and talk to its own service, and nothing else. Trusted Types make the
// browser itself refuse to turn a text into markup: there is no policy that could, so a user's name never becomes any.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types 'none'"

// docsPolicy is what Swagger UI needs beyond that: it sets style attributes, and its style sheet has images in it.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
