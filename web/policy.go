package web

// pagePolicy lets the page load its own files and talk to its own service, and nothing else. Trusted Types make the
// browser itself refuse to turn text into markup, and no policy makes an exception, so a user's name never becomes
// markup.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types 'none'"

// docsPolicy also allows what Swagger UI needs: it sets style attributes, and its style sheet contains images.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
