module github.com/verdictgate/verdictgate/testdata/actions

go 1.26.0

require (
	github.com/getkin/kin-openapi v0.153.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)
