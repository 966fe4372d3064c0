package retry

import "time"

// What a Client does where its fields are zero, with the reasons.
const (
	// defaultAttempts: with the pauses below, 1 + 2 + 4 seconds, that outlives the
	// restart of a service and not a pipeline's patience.
	defaultAttempts    = 4
	defaultFirstPause  = time.Second
	defaultMaxPause    = 30 * time.Second
	defaultAttemptTime = 30 * time.Second
	defaultMaxBody     = 10 << 20

	// limitPause is the pause that GitHub asks for when its secondary limit names
	// none: "wait for at least one minute before retrying".
	//
	// Source: https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api#handle-rate-limit-errors-appropriately
	limitPause = time.Minute

	// maxErrorText is what is quoted of a service's own words about its failure.
	maxErrorText = 300
)
