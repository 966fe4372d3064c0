# The gate as an image, in two targets:
#
#   reading  the program and git, for contracts that only read: no browser, no OCR, no shell
#   full     what action.yml runs: Debian with git, headless Chromium, Tesseract and fonts
#
# The last one is what a plain `docker build .` makes. There is no USER: GitHub's runner
# mounts folders that only root may write, and the gate starts what it judges as
# somebody else. It builds with BuildKit and with the builder before it.
#
# A release names the bases by digest (scripts/pin-image).
ARG BUILD_BASE=golang:1.26-bookworm
ARG RUN_BASE=debian:bookworm-slim

FROM ${BUILD_BASE} AS build
WORKDIR /src
# What changes seldom goes first, so that its layer is kept: the modules, and of
# their packages those that take minutes to compile, with the flags of make build.
COPY go.mod go.sum ./
RUN go mod download
RUN CGO_ENABLED=1 go build -trimpath -buildvcs=false -tags 'grpcnotrace netgo osusergo sqlite_omit_load_extension' \
      github.com/google/go-github/v62/github \
      github.com/mattn/go-sqlite3 \
      github.com/sigstore/sigstore-go/pkg/sign \
      github.com/sigstore/sigstore-go/pkg/verify
COPY . .
# The build's context has no .git: whoever knows the version says it.
ARG VERSION=devel
ARG COMMIT=
RUN make --no-print-directory build STATIC=1 VERSION="$VERSION" COMMIT="$COMMIT"
# A program that an earlier step of a job could preload a library into is not shipped.
RUN for program in bin/gate cmd/gate/full/gate; do \
      if readelf --program-headers --wide "$program" | grep -E '^ +(INTERP|DYNAMIC) '; then echo "$program is not static" >&2; exit 1; fi; \
    done

# git and every library that it loads, for the fetch of a commit by HTTPS and for the revision of the workspace.
FROM ${RUN_BASE} AS git
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends ca-certificates git >/dev/null
RUN set -eu; \
    core=/usr/lib/git-core; \
    mkdir -p /root-of-image; cd /root-of-image; \
    install -d -m 1777 tmp; install -d -m 700 root; install -d usr/bin etc ".$core" usr/share/git-core/templates; \
    cp /usr/bin/git usr/bin/; \
    cp "$core/git-remote-http" ".$core/"; ln -s git-remote-http ".$core/git-remote-https"; \
    ldd /usr/bin/git "$core/git-remote-http" | grep -o '/[^ ]*' | grep '\.so' | sort -u | xargs cp --parents --dereference --target-directory=.; \
    cp --parents --dereference /etc/ssl/certs/ca-certificates.crt .; \
    printf 'root:x:0:0:root:/root:/\nnobody:x:65534:65534:nobody:/nonexistent:/\n' >etc/passwd; \
    printf 'root:x:0:\nnogroup:x:65534:\n' >etc/group

FROM scratch AS reading
COPY --from=git /root-of-image/ /
RUN ["/usr/bin/git", "--version"]
COPY --from=build /src/bin/gate /usr/local/bin/gate
ENV PATH=/usr/local/bin:/usr/bin
ARG VERSION=devel
ARG COMMIT=
LABEL org.opencontainers.image.title="Verdictgate, reading checks" \
      org.opencontainers.image.description="Judges a change by contracts that it cannot reach; without browser and OCR" \
      org.opencontainers.image.source="https://github.com/verdictgate/verdictgate" \
      org.opencontainers.image.documentation="https://github.com/verdictgate/verdictgate/blob/main/docs/action.md" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$COMMIT"
ENTRYPOINT ["/usr/local/bin/gate", "action"]

FROM ${RUN_BASE} AS tools
# Chromium draws in software by itself, and depends on drivers that do so through
# LLVM, and on desktop tools in Perl: 250 MB that nothing here starts. They are
# purged as packages, so that the list of packages tells what is in the image; then
# go the parts of packages that serve debugging Vulkan, serving git, and pages of chrome://.
RUN set -eu; \
    printf 'path-exclude=/usr/share/%s/*\n' doc man info locale lintian bug >/etc/dpkg/dpkg.cfg.d/slim; \
    apt-get update -qq; \
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
      ca-certificates chromium-headless-shell fonts-dejavu-core fonts-liberation git tesseract-ocr tesseract-ocr-eng >/dev/null; \
    dpkg --purge --force-depends \
      git-man libgl1-mesa-dri libllvm15 libperl5.36 libz3-4 liberror-perl perl perl-modules-5.36 \
      tesseract-ocr-osd x11-utils xdg-utils >/dev/null 2>&1; \
    apt-get clean; \
    rm -rf /var/lib/apt/lists/* /var/cache/* /var/log/* /usr/share/info /usr/share/gitweb; \
    rm -f /usr/lib/chromium/libVk* /usr/lib/chromium/*.TOC /usr/lib/chromium/resources.pak; \
    rm -f /usr/bin/scalar /usr/bin/git-shell; cd /usr/lib/git-core; \
    rm -f scalar git-shell git-daemon git-http-backend git-http-push git-imap-send; \
    ln -sf ../../bin/git git; \
    find / -xdev -type f -perm /6000 -exec chmod a-s {} +; \
    chromium-headless-shell --version; tesseract --version | head -1; git --version

# Copied as one layer, or what is removed above would still be in the base's.
FROM scratch AS full
COPY --from=tools / /
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
COPY --from=build /src/bin/gate /usr/local/bin/gate
ARG VERSION=devel
ARG COMMIT=
LABEL org.opencontainers.image.title="Verdictgate" \
      org.opencontainers.image.description="Judges a change by contracts that it cannot reach" \
      org.opencontainers.image.source="https://github.com/verdictgate/verdictgate" \
      org.opencontainers.image.documentation="https://github.com/verdictgate/verdictgate/blob/main/docs/action.md" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$COMMIT"
ENTRYPOINT ["/usr/local/bin/gate", "action"]
