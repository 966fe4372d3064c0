// Package checks is the vocabulary: every check type of this build.
package checks

import (
	"github.com/verdictgate/verdictgate/checks/command_exit"
	"github.com/verdictgate/verdictgate/checks/directory_manifest"
	"github.com/verdictgate/verdictgate/checks/file_digest"
	"github.com/verdictgate/verdictgate/checks/file_exists"
	"github.com/verdictgate/verdictgate/checks/json_value"
	"github.com/verdictgate/verdictgate/checks/numeric_invariant"
	"github.com/verdictgate/verdictgate/checks/sqlite_query"
	"github.com/verdictgate/verdictgate/gate/check"
)

// All lists the check types, sorted by name. A type that is not here does not
// exist in this build: there are no stubs. In a lean build a type whose library
// is slow to start is linked into the carried program only: see package carry.
func All() []check.Type {
	return []check.Type{
		commandexit.Type(),
		directorymanifest.Type(),
		filedigest.Type(),
		fileexists.Type(),
		jsonSchema(),
		jsonvalue.Type(),
		numericinvariant.Type(),
		sqlitequery.Type(),
	}
}
