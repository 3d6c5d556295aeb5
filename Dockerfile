# The release image, the program and an empty data directory:
#   docker build .
# What `docker compose up dev` runs, Go and air for a mounted source tree:
#   docker build --target development .

# Which release this is: the program prints it, logs it, and the image's labels have it.
ARG VERSION=unreleased
ARG REVISION=unknown

# Compilers run on the machine that builds, whatever machine the image is for: Go cross-compiles, nothing is emulated.
FROM --platform=$BUILDPLATFORM golang:1.26-alpine AS base
ENV CGO_ENABLED=0
WORKDIR /src
COPY go.mod go.sum ./


FROM base AS development
COPY tools.mod tools.sum ./
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    go build -modfile=tools.mod -o /go/bin/air github.com/air-verse/air
# The source tree is mounted at /src. The database and what air builds lie elsewhere, so that neither a root-owned file
# nor one that git would see appears in it. GOFLAGS: the mounted .git may belong to a user whom git does not trust, and what
# `go run .` builds beside air has the tag that air builds with.
ENV GOFLAGS="-buildvcs=false -tags=nomsgpack" AIR_TMP=/tmp/air DATA_DIR=/app/data RUN_AS=65532
EXPOSE 3000
ENTRYPOINT ["air", "--tmp_dir=/tmp/air"]


FROM base AS build
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG TARGETOS TARGETARCH VERSION REVISION
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    GOOS=$TARGETOS GOARCH=$TARGETARCH go build -tags nomsgpack -trimpath \
      -ldflags "-s -w -X users-api/commands.version=$VERSION -X users-api/commands.revision=$REVISION" -o /app/users-api . \
    && mkdir -p -m 700 /volume/data


FROM scratch AS release
ARG VERSION REVISION
LABEL org.opencontainers.image.title="users-api" \
      org.opencontainers.image.description="A registry of users: JSON over HTTP, kept in one SQLite file or in PostgreSQL" \
      org.opencontainers.image.version=$VERSION \
      org.opencontainers.image.revision=$REVISION
WORKDIR /app
COPY --from=build /app/users-api /app/users-api
# The data directory. An empty named volume takes over its owner, so that --user 65532 works without any capability, and
# its mode, so that no other user of the host may read names and emails. COPY keeps the modes of what is in a directory,
# and not its own: so the one above it is copied.
COPY --from=build --chown=65532:65532 /volume /app
VOLUME /app/data
# There is no /tmp. On PostgreSQL, temporary files go here; on SQLite they are beside the database.
ENV TMPDIR=/app/data
# The program starts as root only to own the data directory, and becomes this uid and gid before it opens anything.
ENV RUN_AS=65532
EXPOSE 3000
# A short interval instead of --start-interval, which engines before 25 refuse. One check takes about 10 ms. A start may wait
# 30 s for PostgreSQL: until the first success, failures do not count for a minute.
HEALTHCHECK --interval=2s --timeout=3s --start-period=1m --retries=3 CMD ["/app/users-api", "healthcheck"]
ENTRYPOINT ["/app/users-api"]
