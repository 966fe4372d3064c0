// Package artifact packs a bundle into a zip archive and uploads that as an
// artifact of the workflow run.
//
// # The archive
//
// The same bundle gives the same bytes on every machine and with every later
// gate: the names are sorted, every entry has the same time and mode, and its
// bytes are stored as they are. No compressor's release can so change a
// digest that a check-run carries, and anybody can make the archive again from
// the folder, to compare. Stored bytes also never look like an archive that
// unpacks to many times its size, which a repetitive log would. The files lie at the root of
// the archive, as in the folder; a folder without files leaves no trace. What
// is no regular file is refused, and so is an archive that package unpack would not take
// back.
//
// # The upload
//
// GitHub's fourth artifact protocol has three steps, and is spoken as npm's
// @actions/artifact speaks it: CreateArtifact gives a signed URL, the archive goes
// there in blocks of a blob, and FinalizeArtifact tells its size and SHA-256, which
// the service compares. Only then the artifact can be seen. A name that an earlier try
// of the upload took, to which no answer came, is left alone: the archive goes under NAME-2,
// and the note says so. The archive lies in a temporary file
// meanwhile: its digest must be known, and a block may have to be sent again. A
// few blocks are in memory at a time, however large it is.
//
// # What is secret
//
// The runtime token, which is the job's, and the signature in the upload's URL,
// with which anybody could write there. Config.Mask is told both before anything is
// sent, and no error and no warning holds either.
package artifact
