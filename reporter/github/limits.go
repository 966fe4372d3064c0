package github

// What GitHub takes, and what we let it have.
const (
	// maxTitle is in characters, of a check-run's title and of an annotation's.
	// Source: https://docs.github.com/en/rest/checks/runs#create-a-check-run
	maxTitle = 255
	// maxTitlePart keeps one part of a title from pushing out the others. GitHub shows
	// the beginning beside the name.
	maxTitlePart = 120
	// maxName is ours: no length is documented, and a column of that name in GitHub's
	// rules takes 255.
	maxName = 255
	// maxNamePart keeps one part of the name from pushing out the others.
	maxNamePart = 100
	// maxSummary is what a check-run's summary takes, and its text: bytes, though the
	// documentation says characters.
	// Source: https://docs.github.com/en/rest/checks/runs#create-a-check-run
	maxSummary = 65_535
	// maxMessage is an annotation's message; GitHub takes 64 KB, but a message is
	// read in a box beside a line.
	// Source: https://docs.github.com/en/rest/checks/runs#create-a-check-run
	maxMessage = 8 << 10
	// maxAnnotations is ours: 50 are posted a request, and 80 requests that write are
	// allowed a minute, so these take 20 of them.
	// Source: https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits
	maxAnnotations = 1000
	// maxEdits is how many of them may be about edits of contracts.
	maxEdits = 100
	// maxOfOneCheck is how many of them one check may have.
	maxOfOneCheck = 100

	// maxCommands is how many annotations of one kind the runner takes from the log
	// of a step, and maxCommandMessage where it cuts their text.
	// Source: https://github.com/actions/runner/blob/main/src/Runner.Worker/ExecutionContext.cs
	// and https://github.com/orgs/community/discussions/26680
	maxCommands       = 10
	maxReasons        = 5 // of them, those that say why a step is red
	maxCommandMessage = 4096

	// maxJobSummary is what a step may add to the summary of its job; a larger file is
	// dropped whole.
	// Source: https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands#step-isolation-and-limits
	maxJobSummary = 1 << 20
	// maxOutput is one output of a step. All outputs of a job may have 1 MB, counted in
	// UTF-16, so this is half of it.
	// Source: https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax#jobsjob_idoutputs
	maxOutput = 512 << 10
)

// What is shown of one thing. A reader of a summary is looking for what to do; the
// evidence has the rest.
const (
	maxCell       = 400     // bytes of a sentence in a table or list
	maxLong       = 2 << 10 // bytes of a refusal or a note
	maxPlain      = 200     // bytes of a name or a path
	maxAddress    = 2000    // bytes of an address
	maxValueShown = 4 << 10 // bytes of a value in the details of a check
	maxSide       = 600     // bytes of a value in an annotation
	maxPlaces     = 20      // findings in the details of a check
	maxNotes      = 50
	maxMerged     = 20 // findings without a file of their own, in one annotation
	maxInline     = 90 // bytes of a value that stands in a line and not in a block
	maxRows       = 2000
	// maxMeasured is how far a value is written out to say how much of it was cut.
	maxMeasured = 64 << 20

	// reserve is kept free in a budget of bytes for the line that tells of a cut.
	reserve = 400
)

// What is read to find places.
const (
	// maxScanned is how much of a command's output is searched for places.
	maxScanned = 8 << 20
	// maxScannedLine: the lines that compilers print are shorter.
	maxScannedLine = 4 << 10
	// maxLocations is how many places of one output are looked up in the workspace.
	maxLocations = 2000
	// maxOpened bounds the documents that are parsed to find the line of a pointer.
	maxOpened = 8 << 20
)
