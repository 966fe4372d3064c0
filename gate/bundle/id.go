package bundle

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
	"time"
)

const (
	idPrefix    = "vr_"
	idTime      = "20060102T150405"
	idRandom    = 6 // bytes
	idLength    = len(idPrefix) + len(idTime) + 1 + 2*idRandom
	partialName = ".partial-"
)

// newID makes the id of a run: sortable by time, safe as a folder's name.
func newID(now time.Time) string {
	var random [idRandom]byte
	rand.Read(random[:]) // never fails: the runtime ends the program instead
	return idPrefix + now.UTC().Format(idTime) + "_" + hex.EncodeToString(random[:])
}

// idMoment is the moment that an id states; ok says whether it is an id at all.
// Nothing else ever becomes part of a path.
func idMoment(id string) (moment time.Time, ok bool) {
	stamp, random, found := strings.Cut(strings.TrimPrefix(id, idPrefix), "_")
	if len(id) != idLength || !strings.HasPrefix(id, idPrefix) || !found || len(random) != 2*idRandom {
		return time.Time{}, false
	}
	for _, c := range []byte(random) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return time.Time{}, false
		}
	}
	moment, err := time.Parse(idTime, stamp)
	return moment, err == nil
}

// cutPartial gives the run that an unfinished folder belongs to.
func cutPartial(name string) (id string, ok bool) { return strings.CutPrefix(name, partialName) }
