// Package openapi holds requests and responses against the public OpenAPI
// description of GitHub's REST API, of which github.json is a part (see cut).
//
//	d, err := openapi.Load()
//	op, ok := d.Find("POST", "/repos/acme/shop/check-runs")
//	err = op.Request(request, body)
//
// Find knows that a path, a ref and a comparison go on over slashes, which
// routers that follow the description to the letter do not.
package openapi

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

//go:embed github.json
var document []byte

// Description is what was loaded.
type Description struct {
	spec   *openapi3.T
	routes []route
}

type route struct {
	template string
	pattern  *regexp.Regexp
	names    []string
	item     *openapi3.PathItem
}

// Operation is what a request asks for.
type Operation struct {
	ID     string            // "checks/create"
	Params map[string]string // of the path, unescaped
	route  *routers.Route
}

// deep are the parameters that hold slashes.
var deep = []string{"path", "ref", "basehead", "branch"}

var parameter = regexp.MustCompile(`\{([a-z_]+)\}`)

// Load reads the description.
func Load() (*Description, error) {
	spec, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		return nil, fmt.Errorf("github.json: %w", err)
	}
	d := &Description{spec: spec}
	for template, item := range spec.Paths.Map() {
		r := route{template: template, item: item}
		var pattern strings.Builder
		last := 0
		for _, at := range parameter.FindAllStringSubmatchIndex(template, -1) {
			name := template[at[2]:at[3]]
			pattern.WriteString(regexp.QuoteMeta(template[last:at[0]]))
			if slices.Contains(deep, name) {
				pattern.WriteString("(.+?)")
			} else {
				pattern.WriteString("([^/]+)")
			}
			r.names = append(r.names, name)
			last = at[1]
		}
		pattern.WriteString(regexp.QuoteMeta(template[last:]))
		r.pattern = regexp.MustCompile("^" + pattern.String() + "$")
		d.routes = append(d.routes, r)
	}
	// The most of literal text first: commits/{ref}/check-runs before commits/{ref}.
	slices.SortFunc(d.routes, func(a, b route) int {
		if n := literal(b.template) - literal(a.template); n != 0 {
			return n
		}
		return strings.Compare(a.template, b.template)
	})
	return d, nil
}

func literal(template string) int { return len(parameter.ReplaceAllString(template, "")) }

// Find gives the operation for a method and an escaped path.
func (d *Description) Find(method, escapedPath string) (*Operation, bool) {
	for _, r := range d.routes {
		match := r.pattern.FindStringSubmatch(escapedPath)
		if match == nil {
			continue
		}
		op := r.item.GetOperation(method)
		if op == nil {
			continue
		}
		params := map[string]string{}
		for i, name := range r.names {
			value, err := url.PathUnescape(match[i+1])
			if err != nil {
				return nil, false
			}
			params[name] = value
		}
		return &Operation{ID: op.OperationID, Params: params, route: &routers.Route{
			Spec: d.spec, Path: r.template, PathItem: r.item, Method: method, Operation: op,
		}}, true
	}
	return nil, false
}

// Operations are the ids of everything that is described, sorted.
func (d *Description) Operations() []string {
	var ids []string
	for _, r := range d.routes {
		for op := range maps.Values(r.item.Operations()) {
			ids = append(ids, op.OperationID)
		}
	}
	slices.Sort(ids)
	return ids
}

func (o *Operation) input(r *http.Request, body []byte) *openapi3filter.RequestValidationInput {
	clone := r.Clone(context.Background())
	clone.Body = io.NopCloser(bytes.NewReader(body))
	clone.ContentLength = int64(len(body))
	return &openapi3filter.RequestValidationInput{
		Request: clone, PathParams: o.Params, Route: o.route,
		Options: brief(&openapi3filter.Options{
			MultiError: true, RejectWhenRequestBodyNotSpecified: true, SkipSettingDefaults: true,
			AuthenticationFunc: openapi3filter.NoopAuthenticationFunc,
		}),
	}
}

// brief lets errors say the place and the reason, without the whole schema.
func brief(o *openapi3filter.Options) *openapi3filter.Options {
	o.WithCustomSchemaErrorFunc(func(err *openapi3.SchemaError) string {
		return "/" + strings.Join(err.JSONPointer(), "/") + ": " + err.Reason
	})
	return o
}

// Request says what is wrong with a request. Parameters of the query that the
// description does not name are wrong too: a misspelt filter finds everything.
func (o *Operation) Request(r *http.Request, body []byte) error {
	errs := []error{openapi3filter.ValidateRequest(context.Background(), o.input(r, body))}
	known := map[string]bool{}
	for _, p := range slices.Concat(o.route.PathItem.Parameters, o.route.Operation.Parameters) {
		if p.Value.In == openapi3.ParameterInQuery {
			known[p.Value.Name] = true
		}
	}
	for name := range r.URL.Query() {
		if !known[name] {
			errs = append(errs, fmt.Errorf("%s has no parameter %q", o.ID, name))
		}
	}
	return errors.Join(errs...)
}

// undescribed are answers that GitHub gives everywhere without describing them.
var undescribed = []int{401, 403, 404, 429, 500, 502, 503}

// Response says what is wrong with an answer of JSON, or with its status.
func (o *Operation) Response(r *http.Request, status int, header http.Header, body []byte) error {
	if o.route.Operation.Responses.Status(status) == nil && slices.Contains(undescribed, status) {
		return nil
	}
	return openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: o.input(r, nil), Status: status, Header: header,
		Body:    io.NopCloser(bytes.NewReader(body)),
		Options: brief(&openapi3filter.Options{MultiError: true, IncludeResponseStatus: true}),
	})
}

// Example gives a copy of the description's own example of an answer, which has
// every member that is required; "" as name takes the first.
func (o *Operation) Example(status int, name string) (any, error) {
	response := o.route.Operation.Responses.Status(status)
	if response == nil || response.Value == nil {
		return nil, fmt.Errorf("%s has no answer %d", o.ID, status)
	}
	media := response.Value.Content.Get("application/json")
	if media == nil || len(media.Examples) == 0 {
		return nil, fmt.Errorf("%s has no example for %d", o.ID, status)
	}
	if name == "" {
		name = slices.Min(slices.Collect(maps.Keys(media.Examples)))
	}
	example := media.Examples[name]
	if example == nil || example.Value == nil {
		return nil, fmt.Errorf("%s has no example %q", o.ID, name)
	}
	text, err := json.Marshal(example.Value.Value)
	if err != nil {
		return nil, err
	}
	var copied any
	return copied, json.Unmarshal(text, &copied)
}
