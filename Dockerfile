# docker build -t limitsrv .
# docker run -p 6379:6379 -v limits:/data -e LIMITSRV_PASSWORD=secret limitsrv
#
# Every option is an environment variable: --max-memory 1gb is LIMITSRV_MAX_MEMORY=1gb.
# The health check reads the same variables. The image contains the server and its
# licenses, no shell; it runs with --read-only and --cap-drop ALL. Without a password it does not
# start, except with LIMITSRV_UNPROTECTED=true. docker stop -t 15 leaves time for
# --drain (10 s). -e LIMITSRV_ADMIN=0.0.0.0:9379 -p 127.0.0.1:9379:9379 adds metrics,
# probes and a status page.

FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags="-s -w" -o /out/limitsrv ./cmd/limitsrv && mkdir /out/data

FROM scratch
COPY --from=build /out/limitsrv /limitsrv
COPY LICENSE NOTICE /
COPY --from=build --chown=65532:65532 /out/data /data
ENV LIMITSRV_LISTEN=0.0.0.0:6379 LIMITSRV_DATA=/data
USER 65532:65532
VOLUME /data
EXPOSE 6379
HEALTHCHECK --interval=10s --timeout=6s --start-period=60s CMD ["/limitsrv", "ping"]
ENTRYPOINT ["/limitsrv"]
