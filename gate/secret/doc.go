// Package secret recognises credential-shaped text and replaces it, so that
// evidence can be kept and shown without handing out what it happened to hold.
//
// Three families are recognised:
//
//   - tokens that announce themselves by a prefix (ghp_…, AKIA…, xoxb-…, sk-ant-…),
//     private keys in PEM form, JSON Web Tokens, Slack webhook addresses;
//   - values that their surroundings call a credential: password=…, "token": "…",
//     --api-key …, <password>…</password>, Authorization and cookie headers, the
//     machines of a .netrc; what such a name holds inside, {"password": {"value":
//     "…"}}, and a YAML block below it, count too;
//   - the user information of a URL, scheme://user:password@host, and a user alone
//     where it looks like a token.
//
// [Find] says where, [Redact] replaces each by [redacted:<kind>], and
// [RedactValue] does the same inside a JSON value, where a string that stands in
// a member of a credential's name is redacted whole. A value that is taken out of
// its document keeps what the names around it said as its [Place]. [Credential] knows only what is a
// credential beyond doubt; it is for documents that are refused rather than
// redacted.
//
// # What it is built on
//
// One pass over the bytes, no regular expression: a table tells whether a byte
// can begin a token or is the operator of a pair, and everything else is
// skipped. Every look forward is either consumed by the match that it makes or
// bounded, so the time is linear in the text whatever the text is, and text is
// only bytes: binary output and broken UTF-8 are no special case.
//
// # What it gives up
//
// A shape is not proof. Where shape alone cannot tell, the text is redacted: a
// replaced word costs a reader a moment, a kept password costs more. What is
// plainly no credential stays: empty values, references such as $TOKEN or
// ${{ secrets.X }}, masks such as ***, <password>, null, and prose after a
// colon. A secret that has no shape and no name, one cut in two by the text
// around it, a word or a sentence under a name that often has no credential
// (pass, session), the line after "password:" in YAML, and one that is encoded again (hex, base64 of a whole file) are
// not found.
package secret
