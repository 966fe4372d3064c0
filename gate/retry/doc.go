// Package retry makes an HTTP request again when its failure is of the kind that
// passes, and says in words what stays.
//
// What passes is no connection, an answer cut short, 408, 429 and 5xx; and, for
// GitHub's API, what its limits look like: a 403 that names a time or a limit. What a
// service refuses otherwise it would refuse again, so that answer goes to the
// caller at once. A certificate that nobody vouches for, and an answer larger
// than the caller takes, are errors that are not tried again.
//
// # What must not be done twice
//
// A request whose connection was cut may have been done all the same. Where
// doing it twice does harm, the caller says so (Client.Once), and such a request
// is made again only if it was certainly not done: nothing was sent, or the service
// refused it because of a limit. Otherwise the error is an [UnsureError]: the
// caller looks first whether it was done.
//
// # What is kept, and what is not shown
//
// Answers are read whole, into memory, before the caller gets them, unless it wants them as
// they arrive (Client.Stream). No redirect is
// followed: it could carry a token to another host. What follows the scheme in a
// request's Authorization header never stands in a warning or an error, nor does
// what the caller names besides.
package retry
