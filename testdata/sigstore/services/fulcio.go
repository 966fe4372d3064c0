package services

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	ctclient "github.com/google/certificate-transparency-go/client"
	"github.com/google/certificate-transparency-go/jsonclient"
	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/sigstore/fulcio/pkg/ca/ephemeralca"
	"github.com/sigstore/fulcio/pkg/certificate"
	"github.com/sigstore/fulcio/pkg/config"
	"github.com/sigstore/fulcio/pkg/generated/protobuf"
	"github.com/sigstore/fulcio/pkg/server"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	"github.com/sigstore/sigstore/pkg/signature"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

// Fulcio is the real certificate authority, with a root that lives as long as
// it does.
type Fulcio struct {
	Front
	Root *x509.Certificate
	grpc *grpc.Server
}

// githubURL stands before a workflow's path in a certificate.
const githubURL = "https://github.com"

// provider is the name of the templates below in Fulcio's configuration.
const provider = "github-workflow"

// templates say what a certificate is made of: names of claims, and texts with
// claims in them, as the public instance has them for GitHub.
var templates = certificate.Extensions{
	GithubWorkflowTrigger:               "event_name",
	GithubWorkflowSHA:                   "sha",
	GithubWorkflowName:                  "workflow",
	GithubWorkflowRepository:            "repository",
	GithubWorkflowRef:                   "ref",
	BuildSignerURI:                      "{{ .url }}/{{ .job_workflow_ref }}",
	BuildSignerDigest:                   "job_workflow_sha",
	RunnerEnvironment:                   "runner_environment",
	SourceRepositoryURI:                 "{{ .url }}/{{ .repository }}",
	SourceRepositoryDigest:              "sha",
	SourceRepositoryRef:                 "ref",
	SourceRepositoryIdentifier:          "repository_id",
	SourceRepositoryOwnerURI:            "{{ .url }}/{{ .repository_owner }}",
	SourceRepositoryOwnerIdentifier:     "repository_owner_id",
	BuildConfigURI:                      "{{ .url }}/{{ .workflow_ref }}",
	BuildConfigDigest:                   "workflow_sha",
	BuildTrigger:                        "event_name",
	RunInvocationURI:                    "{{ .url }}/{{ .repository }}/actions/runs/{{ .run_id }}/attempts/{{ .run_attempt }}",
	SourceRepositoryVisibilityAtSigning: "repository_visibility",
}

// fulcioConfig is the server's configuration: tokens of these issuers are
// tokens of GitHub workflows.
func fulcioConfig(issuers ...string) (*config.FulcioConfig, error) {
	c := config.FulcioConfig{
		OIDCIssuers: map[string]config.OIDCIssuer{},
		CIIssuerMetadata: map[string]config.IssuerMetadata{provider: {
			DefaultTemplateValues:          map[string]string{"url": githubURL},
			ExtensionTemplates:             templates,
			SubjectAlternativeNameTemplate: "{{ .url }}/{{ .job_workflow_ref }}",
		}},
	}
	for _, url := range issuers {
		c.OIDCIssuers[url] = config.OIDCIssuer{IssuerURL: url, ClientID: "sigstore", Type: config.IssuerTypeCIProvider, CIProvider: provider}
	}
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	return config.Read(text) // which validates it, and asks the issuers for their keys
}

func startFulcio(ctx context.Context, log *CTLog, issuers ...string) (*Fulcio, error) {
	cfg, err := fulcioConfig(issuers...)
	if err != nil {
		return nil, err
	}
	ca, err := ephemeralca.NewEphemeralCA()
	if err != nil {
		return nil, err
	}
	chain, _ := ca.GetSignerWithChain()
	if len(chain) != 1 {
		return nil, fmt.Errorf("a chain of one certificate was expected, not of %d", len(chain))
	}
	ct, err := ctclient.New(log.URL, http.DefaultClient, jsonclient.Options{PublicKey: log.publicPEM()})
	if err != nil {
		return nil, err
	}
	algorithms, err := signature.NewAlgorithmRegistryConfig([]protocommon.PublicKeyDetails{
		protocommon.PublicKeyDetails_PKIX_ECDSA_P256_SHA_256,
		protocommon.PublicKeyDetails_PKIX_ECDSA_P384_SHA_384,
		protocommon.PublicKeyDetails_PKIX_ED25519,
	})
	if err != nil {
		return nil, err
	}
	// Every request finds the configuration in its context.
	withConfig := func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		return next(config.With(ctx, cfg), request)
	}
	f := &Fulcio{Root: chain[0], grpc: grpc.NewServer(grpc.UnaryInterceptor(withConfig))}
	protobuf.RegisterCAServer(f.grpc, server.NewGRPCCAServer(ct, ca, algorithms, server.NewIssuerPool(cfg)))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	// It ends when the server is stopped, and says so with an error.
	go func() { _ = f.grpc.Serve(listener) }()

	gateway := runtime.NewServeMux(runtime.WithMetadata(func(_ context.Context, r *http.Request) metadata.MD {
		return metadata.Pairs(server.MetadataOIDCTokenKey, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	}))
	plain := []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}
	if err := protobuf.RegisterCAHandlerFromEndpoint(ctx, gateway, listener.Addr().String(), plain); err != nil {
		f.grpc.Stop()
		return nil, err
	}
	f.open(gateway)
	return f, nil
}

// Close ends the gateway, then the server behind it.
func (f *Fulcio) Close() error {
	err := f.Front.Close()
	f.grpc.Stop()
	return errors.Join(err)
}
