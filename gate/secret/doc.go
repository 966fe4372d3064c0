// Package secret recognises credential-shaped text and replaces it, so that
// evidence can be kept and shown without handing out what it happened to hold.
//
// Three families are recognised:
//
//   - tokens that announce themselves by a prefix (ghp_…, AKIA…, xoxb-…, sk-ant-…),
//     private keys in PEM form, JSON Web Tokens, Slack webhook addresses;
//   - values that their surroundings call a credential: password=…, "token": "…",
//     --api-key …, <password>…</password>, Authorization headers;
//   - the user information of a URL, scheme://user:password@host.
//
// [Find] says where, [Redact] replaces each by [redacted:<kind>], and
// [RedactValue] does the same inside a JSON value, where a member of a
// credential's name is redacted whole. [Credential] knows only what is a
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
// around it, and one that is encoded again (hex, base64 of a whole file) are
// not found.
package secret
