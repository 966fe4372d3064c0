package artifact

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"golang.org/x/sync/errgroup"

	"github.com/verdictgate/verdictgate/gate/retry"
)

// signature is the parameter of an upload's address that lets write there.
const signature = "sig"

// secretsOf gives everything by which the signature of an address could be told:
// as it was sent, as it is meant, and as it is written anew.
func secretsOf(address string) (retry.Secrets, *url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return nil, nil, failed("", "the results service gave an address to upload to that is none") // and is not shown
	}
	var all retry.Secrets
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		key, raw, _ := strings.Cut(pair, "=")
		if name, err := url.QueryUnescape(key); err != nil || !strings.EqualFold(name, signature) || raw == "" {
			continue
		}
		all = append(all, raw)
		// Some take a "+" for a space.
		for _, decode := range []func(string) (string, error){url.PathUnescape, url.QueryUnescape} {
			if meant, err := decode(raw); err == nil {
				escaped := url.QueryEscape(meant)
				all = append(all, meant, escaped, strings.ReplaceAll(escaped, "+", "%20"))
			}
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return all, u, nil
}

// upload sends an archive, block by block, and then says that it is whole. A
// plain Put Blob, which would be one request, is lost on an emulator of the runner.
func (c *Config) upload(ctx context.Context, client retry.Client, address string, a archive) error {
	lostBlob := func(err error) error {
		return lost(ctx, client.Secrets, "the archive could not be stored", saidBy(err, client.Secrets))
	}
	to, err := blockblob.NewClientWithNoCredential(address, &blockblob.ClientOptions{ClientOptions: policy.ClientOptions{
		Transport: client.HTTP(ctx),
		Retry:     policy.RetryOptions{MaxRetries: -1}, // the transport makes the attempts
		Telemetry: policy.TelemetryOptions{Disabled: true},
	}})
	if err != nil {
		return lostBlob(err)
	}
	var ids []string
	var sending sync.Mutex
	var sent int64
	group, sendCtx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for at := int64(0); at < a.size && sendCtx.Err() == nil; at += blockSize {
		size := min(blockSize, a.size-at)
		// All ids of a blob must have one length.
		id := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "block-%08d", len(ids)))
		ids = append(ids, id)
		group.Go(func() error {
			block := streaming.NopCloser(io.NewSectionReader(a.file, at, size))
			if _, err := to.StageBlock(sendCtx, id, block, nil); err != nil {
				return err
			}
			sending.Lock()
			defer sending.Unlock()
			sent += size
			if c.Progress != nil {
				c.Progress(sent, a.size)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return lostBlob(err)
	}
	kind := mediaType
	_, err = to.CommitBlockList(ctx, ids, &blockblob.CommitBlockListOptions{HTTPHeaders: &blob.HTTPHeaders{BlobContentType: &kind}})
	if err != nil {
		return lostBlob(err)
	}
	return nil
}

// saidBy is what the store answered, in one line.
func saidBy(err error, hidden retry.Secrets) error {
	var answered *azcore.ResponseError
	if !errors.As(err, &answered) {
		return err
	}
	text := "it answered " + answered.RawResponse.Status
	if answered.ErrorCode != "" {
		text += ", " + hidden.Quote([]byte(answered.ErrorCode))
	}
	return errors.New(text)
}
