package record

import "encoding/json"

// Protocol is the version of the messages between the gate and its worker.
// Both ends are the same program, so it only guards against a mix of builds.
const Protocol = 1

// Start is the first message to a worker: everything that it judges with. The
// contract is its canonical bytes; what is judged is what is parsed from them.
type Start struct {
	Protocol  int             `json:"protocol"`
	Nonce     string          `json:"nonce"`              // keys the digest of the end record: see worker
	Contract  json.RawMessage `json:"contract,omitempty"` // none when the worker is only probed
	Proposed  json.RawMessage `json:"proposed,omitempty"` // the advisory checks that were accepted, an array
	Workspace string          `json:"workspace"`          // absolute, links resolved
	Roots     []string        `json:"roots"`              // absolute, links resolved; the workspace first
	Scratch   string          `json:"scratch"`            // a folder that the worker may write
	Path      string          `json:"path"`               // PATH, less what the roots could plant
	Protected []string        `json:"protected"`          // absolute, links resolved; no cache of a command may reach them
}

// Order is what the gate asks of a running worker; exactly one field is set.
type Order struct {
	Run     *int   `json:"run,omitempty"`     // evaluate the plan's step of that index
	Content *Files `json:"content,omitempty"` // digest the workspace's files
	Finish  bool   `json:"finish,omitempty"`  // answer Done and end
	Start   *Start `json:"start,omitempty"`
}

// Files says which files a content digest is about. Names are bytes: they need
// not be UTF-8, and JSON strings are.
type Files struct {
	UseGit  bool     `json:"use_git"` // Tracked is meant, even when empty; else every file
	Tracked [][]byte `json:"tracked"` // the files that git names, relative to the workspace
}

// Reply is what a worker sends; exactly one field is set.
type Reply struct {
	Hello   *Hello   `json:"hello,omitempty"`
	Result  *Answer  `json:"result,omitempty"`
	Content *Content `json:"content,omitempty"`
	Done    *Done    `json:"done,omitempty"`
}

// Hello says that the worker has bound the same plan, and in what sandbox.
type Hello struct {
	Protocol   int       `json:"protocol"`
	PlanDigest string    `json:"plan_digest"`
	Isolation  Isolation `json:"isolation"`
}

// Isolation is what was in force around the checks of one profile.
type Isolation struct {
	Profile string   `json:"profile"` // "reading", "command"
	Layers  []Layer  `json:"layers"`
	UID     int      `json:"uid"`
	GID     int      `json:"gid"`
	Env     []string `json:"env"` // names of the variables that the worker sees
}

// Layer is one wall of the sandbox: whether it stands, and its detail or why not.
type Layer struct {
	Name   string `json:"name"` // "landlock", "seccomp", "no_new_privs", …
	On     bool   `json:"on"`
	Detail string `json:"detail"`
}

// Answer is the result of one step with its blobs.
type Answer struct {
	Index       int      `json:"index"`
	Result      Result   `json:"result"`
	Blobs       []Blob   `json:"blobs,omitempty"`
	Limitations []string `json:"limitations,omitempty"`
}

// Blob is a piece of evidence on its way to the bundle.
type Blob struct {
	Role string `json:"role"`
	Note string `json:"note,omitempty"`
	Data []byte `json:"data"`
}

// Content is the digest of the workspace's files, and against the last one
// taken by the same worker, what changed (bounded).
type Content struct {
	Digest     string   `json:"digest"`
	Files      int      `json:"files"`
	Bytes      int64    `json:"bytes"`
	Changed    []string `json:"changed,omitempty"` // "added a", "changed b", "removed c"; sorted by path
	Changes    int      `json:"changes"`           // how many there were in all
	Unreadable []string `json:"unreadable,omitempty"`
}

// Done is the last message: how many replies came before it, and the SHA-256
// over their frames. A stream without a valid one is no answer.
type Done struct {
	Count     int     `json:"count"`
	Digest    string  `json:"digest"`
	CPU       float64 `json:"cpu_seconds"`
	PeakBytes int64   `json:"peak_bytes"`
	Hashed    int64   `json:"bytes_hashed"`
}
